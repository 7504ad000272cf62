import { describe, expect, it } from 'vitest';
import type { MeasuredSummary } from '../../src/record/figures.js';
import { fleetAnswer } from '../../src/report/fleet-text.js';
import { type Fleet, fleetOf, rankFleets } from '../../src/report/fleets.js';
import { kindFixture, runFixture } from './fixtures.js';

function fleet(name: string, gpuHours: number, attainment: number, more: Partial<Fleet> = {}): Fleet {
  const unpriced = { scaler: null, cost: null, mixed: false, class: [], tenant: [] };
  return { name, gpuHours, attainment, ...unpriced, ...more };
}

const { summary } = runFixture({ sloMs: 50, goodputRps: 480 });
const KIND = kindFixture('t4', 3);
const HALF_AN_HOUR: MeasuredSummary = { ...summary, durationSeconds: 1800, attainment: 0.75 };

describe('what a run says of its fleet', () => {
  it('is GPUs times hours where nothing scales, and the cost of the whole run', () => {
    const kinds = [KIND, { ...KIND, gpus: 1 }];
    const cost = { perHour: 5, perMillionInTime: 1 };
    expect(fleetOf('A', { ...HALF_AN_HOUR, by: { model: [], kind: kinds }, cost })).toEqual({
      ...{ name: 'A', scaler: null, gpuHours: 2, cost: 2.5, attainment: 0.75, mixed: true },
      ...{ class: [], tenant: [] },
    });
  });

  it('is what was paid for where a scaler was at work', () => {
    const scaling = { scaler: 'reactive', gpuHours: 0.7, meanGpus: 1.4, mostGpus: 3, ordered: 2, stopped: 1 };
    expect(fleetOf('A', { ...HALF_AN_HOUR, by: { model: [], kind: [KIND] }, scaling })).toMatchObject({
      ...{ scaler: 'reactive', gpuHours: 0.7, cost: null, mixed: false },
    });
  });

  it('is nothing where the number of GPUs is not known', () => {
    expect(fleetOf('A', HALF_AN_HOUR)).toBeNull();
  });
});

describe('the frontier of fleets', () => {
  const onFrontier = (...fleets: Fleet[]) =>
    rankFleets(fleets).flatMap((one) => (one.onFrontier ? one.name : []));
  const scaler = 'reactive';

  it('has those that no other one beats in GPU-hours without losing requests', () => {
    expect(
      onFrontier(
        fleet('dear', 12, 0.999),
        fleet('dearer and no better', 13, 0.999),
        fleet('dearer and worse', 11, 0.99),
        fleet('cheap', 10, 0.995, { scaler }),
        fleet('cheapest', 6, 0.8),
        fleet('cheap and bad', 7, 0.7),
      ),
    ).toEqual(['cheap', 'dear', 'cheapest']);
  });

  it('has only the better one of two that pay for as much, or the cheaper of two that are as good', () => {
    expect(onFrontier(fleet('worse', 5, 0.99, { scaler }), fleet('better', 5, 0.995))).toEqual(['better']);
    expect(onFrontier(fleet('dearer', 6, 0.99, { scaler }), fleet('cheaper', 5, 0.99))).toEqual(['cheaper']);
  });

  it('has both of two that are alike', () => {
    expect(onFrontier(fleet('one', 5, 0.99, { scaler }), fleet('other', 5, 0.99))).toEqual(['one', 'other']);
  });

  it('is not that of a plan that knows the future, which beats none of the others', () => {
    expect(onFrontier(fleet('knows', 4, 1, { scaler: 'clairvoyant' }), fleet('real', 5, 0.99))).toEqual([
      'real',
    ]);
  });

  it('is of cost where GPUs of several kinds have prices', () => {
    const fleets = [
      fleet('many small ones', 20, 0.99, { cost: 7, mixed: true, scaler }),
      fleet('few large ones', 4, 0.99, { cost: 10 }),
    ];
    expect(rankFleets(fleets).map(({ name, onFrontier: on }) => [name, on])).toEqual([
      ['many small ones', true],
      ['few large ones', false],
    ]);
    const withoutPrices = fleets.map((one) => ({ ...one, cost: null }));
    expect(rankFleets(withoutPrices).map(({ name }) => name)).toEqual(['few large ones', 'many small ones']);
  });
});

it('names the cheapest fleet, and what it saves against the best fixed one', () => {
  expect(
    fleetAnswer(
      rankFleets([
        fleet('9 GPUs', 216, 0.992),
        fleet('10 GPUs', 240, 0.996),
        fleet('ours', 162, 0.993, { scaler: 'predictive' }),
        fleet('plan', 144, 0.999, { scaler: 'clairvoyant' }),
      ]),
    ),
  ).toEqual({
    title: 'Fewest GPU-hours at 99 % in time: ours, 162',
    reason:
      '25.0 % fewer than the best fixed fleet, 9 GPUs, and 1.13 times those of the plan that knows all arrivals',
  });
});
