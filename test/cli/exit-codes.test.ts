import { expect, test } from 'vitest';
import { describeFailure, exitCodesText } from '../../src/cli/exit-codes.js';
import { ERRORS, EscapementError } from '../../src/core/errors.js';
import { InvariantError } from '../../src/core/invariant.js';

test('an operator error is one line with its code, its place and its own exit status', () => {
  const error = new EscapementError('E_TRACE_VALUE', 'count is negative: -3', {
    file: 'day.csv',
    line: 7,
    key: '480',
  });
  expect(describeFailure(error)).toEqual({
    exitCode: ERRORS.E_TRACE_VALUE.exit,
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

test('exit statuses are distinct, and each is documented', () => {
  const statuses = Object.values(ERRORS).map(({ exit }) => exit);
  expect(new Set([0, 1, 130, ...statuses]).size).toBe(statuses.length + 3);
  for (const status of statuses) expect(exitCodesText()).toMatch(new RegExp(`^ +${status}  E_`, 'm'));
});
