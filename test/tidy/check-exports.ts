import { describe, expect, it } from 'vitest';
import { unusedExports } from './exports.js';
import { parse, SOURCES, TESTS } from './sources.js';
import { isDoor } from './walls.js';

/** Doors, and the entry that piscina loads. */
const isPublic = (path: string) => isDoor(path) || path.endsWith('.cts');

describe('exports', () => {
  it('are imported somewhere', () => {
    expect(unusedExports(SOURCES, [...SOURCES, ...TESTS], isPublic)).toEqual([]);
  });

  it('are found, and so is what takes them', () => {
    const source = parse(
      'src/a.ts',
      [
        'export interface I {} export type T = I; export const c = 1, { d, e: [f] } = g;',
        'export function h() {} export class K {} export enum E { x }',
        'export { c as z }; export default c; const inside = 1;',
      ].join('\n'),
    );
    const unused = (...uses: string[]) =>
      unusedExports(
        [source],
        uses.map((code, i) => parse(`src/user${i}.ts`, code)),
        () => false,
      );
    const all = ['I', 'T', 'c', 'd', 'f', 'h', 'K', 'E', 'z', 'default'];
    const names = (found: readonly string[]) => found.map((line) => line.split(': ')[1]);
    expect(names(unused())).toEqual(all);
    expect(unused()[5]).toBe('src/a.ts:2: h');
    expect(
      names(
        unused(
          "import zero, { type I, c as see } from './a.js';",
          "export type { T } from './a.js';",
          "const { d, f: eff } = await import('./a.js'); (await import('./a.js')).h();",
          "let k: import('./a.js').K;",
        ),
      ),
    ).toEqual(['E', 'z']);
    expect(unused("import * as a from './a.js';")).toEqual([]);
    expect(unused("export * from './a.js';")).toEqual([]);
    expect(unused("load(await import('./a.js'));")).toEqual([]);
    expect(names(unused("import './a.js';"))).toEqual(all);
    expect(names(unused("import { h } from './b.js';"))).toEqual(all);
  });
});
