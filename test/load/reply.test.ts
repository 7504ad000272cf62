import { expect, it } from 'vitest';
import { AnswerCounts } from '../../src/load/answer-counts.js';
import { httpMessage, noAnswer } from '../../src/load/reply.js';

it.each([
  ['{"error":"the SLO cannot be met"}', 'the SLO cannot be met'],
  ['{"error":"cut off', '{"error":"cut off'],
  ['{"detail":"other"}', '{"detail":"other"}'],
  ['<html>\r\n  <h1>502</h1>\n', '<html> <h1>502</h1>'],
  ['{"error":"\\u001b[2Jgone\\u0000"}', '[2Jgone'],
  ['', ''],
  ['x'.repeat(500), `${'x'.repeat(199)}…`],
])('the message of %j is %j', (body, message) => {
  expect(httpMessage(body)).toBe(message);
});

it('answers are counted by status, the most frequent first, with the first message of each', () => {
  const counts = new AnswerCounts();
  counts.add({ status: 'HTTP 500', message: 'first' });
  counts.add(noAnswer('reset'));
  for (let i = 0; i < 3; i++) counts.add({ status: 'HTTP 200', message: '' });
  counts.add({ status: 'HTTP 500', message: 'second' });
  expect(counts.list()).toEqual([
    { status: 'HTTP 200', count: 3, message: '' },
    { status: 'HTTP 500', count: 2, message: 'first' },
    { status: 'no answer', count: 1, message: 'reset' },
  ]);
  for (let i = 0; i < 1000; i++) counts.add({ status: `HTTP ${i + 1000}`, message: '' });
  expect(counts.list()).toHaveLength(100);
});
