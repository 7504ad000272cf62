import { describe, expect, it } from 'vitest';
import { BASE, load } from './experiment-files.js';
import { rejection } from './failure.js';

const KIND = '{ kind: t4, count: 2, max: 8, start: 60s }';

function scaled(gpus = `[${KIND}]`, scaler = '{ kind: reactive }'): string {
  return `${BASE.replace(/^cluster:.*\n/m, `cluster: { gpus: ${gpus}, pages: 1376 }\n`)}scaler: ${scaler}\n`;
}

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

  it('is none by default: the fleet is that of the start', async () => {
    for (const overrides of [['scaler.kind=none'], ['scaler={ kind: none }']]) {
      const { cluster } = await load(scaled(), overrides);
      expect([cluster.gpus, cluster.kinds[0].gpus]).toEqual([2, 2]);
    }
  });

  it('loses the options of the other kind when another is chosen', async () => {
    const text = scaled(undefined, '{ kind: reactive, interval: 5s, utilization: 0.8 }');
    const { scaler } = await load(text, ['scaler.kind=predictive']);
    expect(scaler).toEqual({ kind: 'predictive', intervalNs: 5e9, options: { attainment: 0.99 } });
  });

  it.each([
    ['a start without a unit', scaled('[{ kind: t4, max: 8, start: 60 }]'), /cluster\.gpus\.0\.start: .*60/],
    [
      'min above max',
      scaled('[{ kind: t4, count: 2, min: 9, max: 8 }]'),
      /gpus\.0\.min: must be at most max \(8\), found 9/,
    ],
    [
      'count above max',
      scaled('[{ kind: t4, count: 9, max: 8 }]'),
      /gpus\.0\.count: must be at most max \(8\), found 9/,
    ],
    [
      'count below min',
      scaled('[{ kind: t4, min: 2, max: 8 }]'),
      /gpus\.0\.count: must be at least min \(2\), found 1/,
    ],
    ['GPUs without kinds', scaled('4'), /scaler\.kind: needs kinds that may grow/],
    [
      'no room',
      scaled('[{ kind: t4, count: 2, min: 2 }]'),
      /scaler\.kind: can change nothing, as min is max/,
    ],
    [
      'no GPU that stays',
      scaled(`[${KIND.replace('max', 'min: 0, max')}]`),
      /scaler\.kind: must keep one GPU/,
    ],
    ['an unknown kind', scaled(undefined, '{ kind: magic }'), /scaler\.kind: .*magic/],
    [
      'the option of another',
      scaled(undefined, '{ kind: reactive, headroom: 2 }'),
      /reactive has no headroom, a key of clairvoyant/,
    ],
    [
      'an interval of 0',
      scaled(undefined, '{ kind: reactive, interval: 0s }'),
      /scaler\.interval: must be longer than 0/,
    ],
    ['a cell', `${scaled()}cell: { gpus: 0:1, models: [] }\n`, /does not go with cell|cell/],
    [
      'hindsight of clients that wait',
      scaled(undefined, '{ kind: clairvoyant }').replace(
        /^workload:.*\n/m,
        'workload: { kind: closed-loop, clients: 3, duration: 2s }\n',
      ),
      /scaler\.kind: clairvoyant must know all arrivals in advance/,
    ],
  ])('is refused with %s, in one line', async (_, text, message) => {
    const error = await rejection(load(text));
    expect(error.message).toMatch(message);
    expect(error.message).not.toContain('\n');
  });
});
