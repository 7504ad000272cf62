import { expect, it } from 'vitest';
import type { ClusterStatus } from '../../../src/live/observe/status/cluster-status.js';
import { RateHistory } from '../../../src/play/live/rate-history.js';

const status = (upSeconds: number) =>
  ({ upSeconds, goodputRps: upSeconds * 2, offeredRps: upSeconds * 3 }) as ClusterStatus;

it('keeps ten minutes, and begins again when the server does', () => {
  const history = new RateHistory();
  history.began('first');
  for (let s = 1; s <= 700; s++) history.add(status(s));
  const [seconds, goodput, offered] = history.columns;
  expect([seconds?.length, seconds?.[0], seconds?.at(-1)]).toEqual([600, 101, 700]);
  expect([goodput?.at(-1), offered?.at(-1)]).toEqual([1400, 2100]);
  history.began('first');
  expect(history.columns[0]).toHaveLength(600);
  history.began('second');
  history.add(status(2));
  expect(history.columns).toEqual([[2], [4], [6]]);
});
