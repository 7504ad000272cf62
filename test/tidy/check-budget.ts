import { describe, expect, it } from 'vitest';
import { BUDGETS, MOST_FILES } from './rooms.js';
import { SOURCES } from './sources.js';

describe('src', () => {
  const lines = new Map<string, number>();
  for (const { fileName, text } of SOURCES) {
    const room = roomOf(fileName);
    lines.set(room, (lines.get(room) ?? 0) + text.trimEnd().split('\n').length);
  }

  it('keeps within the budget of lines of each room', () => {
    const table = [...lines].map(([room, has]) => ({ room, lines: has, budget: BUDGETS[room] ?? 0 }));
    console.table(table);
    expect(table.filter((row) => row.lines > row.budget)).toEqual([]);
    expect(Object.keys(BUDGETS).filter((room) => !lines.has(room))).toEqual([]);
  });

  it(`has at most ${MOST_FILES} files`, () => {
    expect(SOURCES.length).toBeLessThanOrEqual(MOST_FILES);
  });
});

/** Folder of src that a file lies in. */
function roomOf(fileName: string): string {
  const [, room = '', ...rest] = fileName.split('/');
  return rest.length === 0 ? 'index' : room;
}
