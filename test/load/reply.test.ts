import { expect, it } from 'vitest';
import { AnswerCounts, httpMessage, noAnswer } from '../../src/load/reply.js';

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

it('answers are counted by status and reason, the most frequent first, with the first message of each', () => {
  const counts = new AnswerCounts();
  counts.add({ status: 'HTTP 500', message: 'first' });
  counts.add(noAnswer('reset'));
  for (let i = 0; i < 3; i++) counts.add({ status: 'HTTP 200', message: '' });
  counts.add({ status: 'HTTP 500', message: 'second' });
  counts.add({ status: 'HTTP 500', message: 'first' });
  expect(counts.list()).toEqual([
    { status: 'HTTP 200', count: 3, message: '' },
    { status: 'HTTP 500', count: 2, message: 'first' },
    { status: 'HTTP 500', count: 1, message: 'second' },
    { status: 'no answer', count: 1, message: 'reset' },
  ]);
  for (let i = 0; i < 1000; i++) counts.add({ status: `HTTP ${i + 1000}`, message: '' });
  expect(new Set(counts.list().map(({ status }) => status)).size).toBe(100);
});

it('messages that differ in numbers and quoted names only are of one reason', () => {
  const counts = new AnswerCounts();
  const status = 'HTTP 429';
  for (let i = 0; i < 9; i++) {
    counts.add({ status, message: `the SLO of 50 ms cannot be met: it would take ${i + 51}.5 ms` });
    if (i < 4) counts.add({ status, message: `no model is called "m${'x'.repeat(i)}"` });
  }
  expect(counts.list()).toEqual([
    { status, count: 9, message: 'the SLO of 50 ms cannot be met: it would take 51.5 ms' },
    { status, count: 4, message: 'no model is called "m"' },
  ]);
});
