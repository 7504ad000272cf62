import { expect, it } from 'vitest';
import { LoadLine } from '../../src/cli/load-run.js';

it('says how many there are, and the rate of the last second', () => {
  const line = new LoadLine();
  const counts = { sent: 10, inFlight: 4, ok: 3, late: 2, failed: 1 };
  expect(line.text(counts, 0)).toBe('10 sent, 4 in flight, 0 ok/s, 2 late, 1 failed');
  for (let i = 1; i <= 8; i++) line.text({ ...counts, ok: 3 + 10 * i }, i * 250_000_000);
  expect(line.text({ ...counts, ok: 183 }, 2_250_000_000)).toBe(
    '10 sent, 4 in flight, 130 ok/s, 2 late, 1 failed',
  );
});
