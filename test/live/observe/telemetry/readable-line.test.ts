import { expect, it } from 'vitest';
import { readableLine } from '../../../../src/live/observe/telemetry/log.js';

it('a line of the log reads well on a terminal, and cannot take it over', () => {
  const entry = {
    level: 'warn',
    time: '2026-03-04T05:06:07.089Z',
    role: 'controller',
    pid: 7,
    gpu: 3,
    reason: 'it said \u001b]0;owned\u0007 "no"\nERROR: fake',
    msg: 'GPU is \u001b[31mgone',
  };
  expect(readableLine(JSON.stringify(entry))).toBe(
    '05:06:07.089 WARN  controller: GPU is \\u001b[31mgone gpu=3 reason="it said \\u001b]0;owned\\u0007 \\"no\\"\\nERROR: fake"',
  );
});
