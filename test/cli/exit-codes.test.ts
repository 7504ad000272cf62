import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { EscapementError } from '../../src/base/errors.js';
import { InvariantError } from '../../src/base/invariant.js';
import { describeFailure, EXIT_CODES } from '../../src/cli/exit-codes.js';
import { ROOT } from './run-cli.js';

test('an operator error is one line with its code, its place and its own exit status', () => {
  const error = new EscapementError('E_TRACE_VALUE', 'count is negative: -3', {
    file: 'day.csv',
    line: 7,
    key: '480',
  });
  expect(describeFailure(error)).toEqual({
    exitCode: 31,
    text: 'escapement: E_TRACE_VALUE: day.csv:7: 480: count is negative: -3\n',
  });
});

test('a broken invariant is reported as a bug, with its stack', () => {
  const { exitCode, text } = describeFailure(new InvariantError('time runs backwards'));
  expect(exitCode).toBe(1);
  expect(text).toContain('this is a bug');
  expect(text).toContain('invariant violated: time runs backwards');
  expect(text).toContain('exit-codes.test.ts');
});

test('exit codes are distinct, and none is one of a shell or of a bug', () => {
  const codes = Object.values(EXIT_CODES).map(({ exit }) => exit);
  expect(new Set(codes).size).toBe(codes.length);
  for (const code of codes) {
    expect(code).toBeGreaterThan(1);
    expect(code).toBeLessThan(126);
  }
});

test('every code that some error has is in the table, and no other', () => {
  const folder = join(ROOT, 'src');
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) =>
    /\.ts$/.test(name),
  );
  const sources = files.filter((name) => !name.endsWith('exit-codes.ts'));
  const named = sources.flatMap(
    (name) => readFileSync(join(folder, name), 'utf8').match(/(?<=['`])E_[A-Z_]*[A-Z](?=['`])/g) ?? [],
  );
  expect([...new Set(named)].sort()).toEqual(Object.keys(EXIT_CODES).sort());
});
