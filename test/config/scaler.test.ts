import { describe, expect, it } from 'vitest';
import { rowsOf } from '../rows.js';
import { BASE, load } from './experiment-files.js';
import { rejection } from './failure.js';

const KIND = '{ kind: t4, count: 2, max: 8, start: 60s }';

function scaled(gpus = `[${KIND}]`, scaler = '{ kind: reactive }'): string {
  return `${BASE.replace(/^cluster:.*\n/m, `cluster: { gpus: ${gpus}, pages: 1376 }\n`)}scaler: ${scaler}\n`;
}

/** GPUs and scaler, if other than usual, and a pattern of the message. */
const MISTAKES = String.raw`
[{ kind: t4, max: 8, start: 60 }] |  | cluster\.gpus\.0\.start: .*60
[{ kind: t4, count: 2, min: 9, max: 8 }] |  | gpus\.0\.min: must be at most max \(8\), found 9
[{ kind: t4, count: 9, max: 8 }] |  | gpus\.0\.count: must be at most max \(8\), found 9
[{ kind: t4, min: 2, max: 8 }] |  | gpus\.0\.count: must be at least min \(2\), found 1
4 |  | scaler\.kind: needs kinds that may grow
[{ kind: t4, count: 2, min: 2 }] |  | scaler\.kind: can change nothing, as min is max
[{ kind: t4, count: 2, min: 0, max: 8, start: 60s }] |  | scaler\.kind: must keep one GPU
 | { kind: magic } | scaler\.kind: .*magic
 | { kind: reactive, headroom: 2 } | reactive has no headroom, a key of clairvoyant
 | { kind: reactive, interval: 0s } | scaler\.interval: must be longer than 0
`;

describe('a scaler', () => {
  it('has a number for each GPU that may be ordered, and knows how many there are at the start', async () => {
    const { cluster, scaler } = await load(scaled());
    expect(cluster.gpus).toBe(8);
    expect(cluster.kinds).toMatchObject([{ gpus: 8, on: 2, scaled: { min: 1, max: 8, startNs: 60e9 } }]);
    expect(scaler).toMatchObject({ kind: 'reactive', intervalNs: 10e9, options: { utilization: 0.6 } });
  });

  it('has kinds that no GPU is of at the start', async () => {
    const { cluster } = await load(
      scaled(
        `[${KIND.replace('max', 'min: 1, max')}, { kind: v100, count: 0, max: 2, speed: 3 }]`,
        '{ kind: predictive }',
      ),
    );
    expect(cluster.kinds.map(({ name, gpus, on }) => [name, gpus, on])).toEqual([
      ['t4', 8, 2],
      ['v100', 2, 0],
    ]);
  });

  it.each([
    ...rowsOf(MISTAKES).map(([gpus, scaler, message]) => [
      scaled(gpus || undefined, scaler || undefined),
      message,
    ]),
    [
      scaled(undefined, '{ kind: clairvoyant }').replace(
        /^workload:.*\n/m,
        'workload: { kind: closed-loop, clients: 3, duration: 2s }\n',
      ),
      'scaler\\.kind: clairvoyant must know all arrivals in advance',
    ],
  ])('is refused in one line: %s', async (text = '', message = '') => {
    const error = await rejection(load(text));
    expect(error.message).toMatch(new RegExp(message));
    expect(error.message).not.toContain('\n');
  });
});
