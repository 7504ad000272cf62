import Papa from 'papaparse';
import { expect, test } from 'vitest';
import { resultsCsv } from '../../../src/run/sweep/results-csv.js';
import { cellResult } from './fixtures.js';

const BOUND = {
  offeredRps: 100,
  fluidRps: 99,
  windowLimitedRps: 90,
  pricedRps: null,
  timePricedRps: null,
  bestRps: 90,
};

test('one row a cell: varied keys as written, seed, figures; a failed cell keeps its place', () => {
  const csv = resultsCsv({
    version: 7,
    escapement: '1.2.3',
    name: 'test',
    experiment: '',
    defaults: {},
    vary: [{ key: 'slo', values: ['10ms'] }],
    seeds: [1, 2],
    cells: [
      {
        id: 'slo=10ms seed=1',
        values: { slo: '10ms' },
        seed: 1,
        status: 'done',
        result: { ...cellResult(42), bound: BOUND },
      },
      {
        id: 'slo=10ms seed=2',
        values: { slo: '10ms' },
        seed: 2,
        status: 'failed',
        code: 'BUG',
        message: 'oh, "no"',
      },
    ],
  });
  const { data, errors } = Papa.parse<Record<string, string>>(csv, { header: true, skipEmptyLines: true });
  expect(errors).toEqual([]);
  expect(data).toHaveLength(2);
  expect(data[0]).toMatchObject({
    slo: '10ms',
    seed: '1',
    status: 'done',
    goodput_rps: '42',
    attainment: '0.42',
    ok: '420',
    timeout: '2',
    offered_latency_p99_ms: '9',
    // Infinite.
    offered_latency_p9999_ms: '',
    executed_latency_p99_ms: '9.1',
    worst_model: 'fixture',
    worst_model_attainment: '0.42',
    models_below_50: '0',
    models_below_90: '1',
    models_assessed: '1',
    timed_out_cold: '4',
    load: '15',
    infer: '700',
    cold_starts: '12',
    digest: '00000000000000aa',
    bound_rps: '90',
  });
  expect(data[1]).toMatchObject({
    slo: '10ms',
    seed: '2',
    status: 'failed',
    code: 'BUG',
    message: 'oh, "no"',
    goodput_rps: '',
  });
});
