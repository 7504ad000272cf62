import { describe, expect, test } from 'vitest';
import { NS_PER_MINUTE, NS_PER_S } from '../../src/base/units.js';
import { traceInfo } from '../../src/workload/index.js';
import { failure, scratch, sharedTrace } from './support.js';

const { file } = scratch();
const ARRIVALS = 'arrival_ns,model_id,slo_ns\n';

describe('what a trace is, found by its header', () => {
  test('counts per minute', async () => {
    const path = file('counts.csv', 'HashFunction,10,11,12,13\nf,0,6,0,0\ng,0,1,1,0\nidle,0,0,0,0\n');
    expect(await traceInfo(path)).toEqual({
      kind: 'azure-2019',
      functions: 3,
      minutes: 4,
      invocations: 8,
      top10Share: 1,
      topPercentShare: 0.75,
      peakToMean: 3.5,
      // Totals 0, 7, 1, 0 around 2: variance 8.5.
      dispersion: 4.25,
      activePerMinute: 0.75,
      cvP50: 1,
      cvP90: 1,
      belowOnePerMinute: 2 / 3,
      belowOnePerHour: 1 / 3,
      meanRps: 8 / 240,
      peakRps: 7 / 60,
      firstNs: NS_PER_MINUTE,
      lastNs: 3 * NS_PER_MINUTE,
      firstMinute: 10,
    });
  });

  test.each(['plain.csv', 'packed.csv.gz'])('arrivals: %s', async (name) => {
    const rows = '1000000000,b,1\n2000000000,a,1\n61000000000,b,1\n119999999999,b,1\n';
    const info = await traceInfo(file(name, `arrival_ns,model_id,slo_ns\n${rows}`));
    expect(info).toMatchObject({
      kind: 'arrivals',
      functions: 2,
      minutes: 2,
      invocations: 4,
      firstNs: NS_PER_S,
      lastNs: 119_999_999_999,
    });
    expect(info.meanRps).toBeCloseTo(4 / 120, 10);
  });

  test('rows with exact times', async () => {
    const rows = '2023-11-16 00:00:00,1,1\n2023-11-16 00:01:30,1,1\n2023-11-16 00:01:00,1,1\n';
    const info = await traceInfo(file('llm.csv', `TIMESTAMP,ContextTokens,GeneratedTokens\n${rows}`));
    expect(info).toMatchObject({ kind: 'azure-llm', functions: 1, minutes: 2, lastNs: 90 * NS_PER_S });
    expect(info.meanRps).toBeCloseTo(3 / 135, 10);
  });

  test('nothing that is invoked has no ratios, and rows without a span have no rate', async () => {
    expect(await traceInfo(file('zero.csv', 'HashFunction,1,2,3\nf,0,0,0\ng,0,0,0\n'))).toEqual({
      kind: 'azure-2019',
      functions: 2,
      minutes: 3,
      invocations: 0,
      top10Share: null,
      topPercentShare: null,
      peakToMean: null,
      dispersion: null,
      activePerMinute: 0,
      cvP50: null,
      cvP90: null,
      belowOnePerMinute: 1,
      belowOnePerHour: 1,
      meanRps: 0,
      peakRps: 0,
      firstNs: null,
      lastNs: null,
      firstMinute: 1,
    });
    const none = { meanRps: null, peakRps: null };
    expect(await traceInfo(file('once.csv', `${ARRIVALS}0,0,1\n0,1,1\n`))).toMatchObject(none);
    expect(await traceInfo(file('single.csv', 'app,func,end_timestamp,duration\na,f,3,1\n'))).toMatchObject(
      none,
    );
  });

  test('a file that is no trace', async () => {
    expect((await failure(() => traceInfo(file('other.csv', 'a,b\n1,2\n')))).code).toBe('E_TRACE_HEADER');
    const unsorted = file('unsorted.csv', 'arrival_ns,model_id,slo_ns\n5,0,1\n4,0,1\n');
    expect((await failure(() => traceInfo(unsorted))).code).toBe('E_TRACE_ORDER');
  });
});

test('the public day has the published statistics', async ({ skip }) => {
  const { path, present } = sharedTrace('azure2019_invitro_1250f_1440min_inv.csv');
  skip(!present, `${path} is not there`);
  const info = await traceInfo(path);
  expect(info.invocations).toBe(18_279_781);
  expect(info.meanRps).toBeCloseTo(211.6, 1);
  expect(info.top10Share).toBeCloseTo(0.575, 3);
  expect(info.topPercentShare).toBeCloseTo(0.606, 3);
  expect(info.peakToMean).toBeCloseTo(2.11, 2);
  expect(info.dispersion).toBeCloseTo(504, 0);
  expect(info.activePerMinute).toBeCloseTo(226, -0.5);
  expect(info.cvP50).toBeCloseTo(7.9, 1);
  expect(info.cvP90).toBeCloseTo(37.9, 1);
});
