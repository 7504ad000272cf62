import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import Papa from 'papaparse';
import { expect, test } from 'vitest';
import { resultsCsv } from '../../../src/run/sweep/results-csv.js';
import { runOk, SMALL_EXPERIMENT, tempDir, writeIn } from '../../cli/run-cli.js';
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

test('latencies are those of the request log, each in its own column', async () => {
  const dir = tempDir();
  // Some requests are late or rejected, so that offered and executed differ; all percentiles do as well.
  const file = writeIn(
    dir,
    'run.yaml',
    SMALL_EXPERIMENT.replace('400/s, duration: 2s', '620/s, duration: 20s'),
  );
  await runOk(['simulate', file, '--seed', '2', '--out', join(dir, 'run')]);
  await runOk(['sweep', file, '--seeds', '1,2', '--threads', '1', '--out', join(dir, 'sweep')]);
  const { data } = Papa.parse<Record<string, string>>(readFileSync(join(dir, 'sweep/results.csv'), 'utf8'), {
    header: true,
  });
  const log = readFileSync(join(dir, 'run/requests.tsv'), 'utf8');
  const { data: requests } = Papa.parse<Record<string, number>>(log.trim(), {
    ...{ header: true, delimiter: '\t', dynamicTyping: true },
  });
  const msOf = ({ latency = 0 }: Record<string, number>) => latency / 1e6;
  const executed = requests.filter(({ result }) => result === 0).map(msOf);
  const offered = requests.map((one) => (one.deadline_met === 1 ? msOf(one) : Number.POSITIVE_INFINITY));
  expect(executed.length).toBeLessThan(offered.length);
  for (const [reading, latencies] of Object.entries({ executed, offered })) {
    const sorted = latencies.sort((a, b) => a - b);
    // Nearest rank.
    const at = (percent: number) => sorted[Math.ceil((percent / 100) * sorted.length - 1e-9) - 1]!;
    const percentiles = {
      p50: at(50),
      p90: at(90),
      p95: at(95),
      p99: at(99),
      p999: at(99.9),
      p9999: at(99.99),
    };
    const wanted = {
      ...percentiles,
      ...{ mean: sorted.reduce((sum, ms) => sum + ms, 0) / sorted.length, max: sorted.at(-1)! },
    };
    for (const [name, ms] of Object.entries(wanted)) {
      const cell = data[1]![`${reading}_latency_${name}_ms`]!;
      const found = cell === '' ? Number.POSITIVE_INFINITY : Number(cell);
      // Percentiles are within 0.05 %.
      if (ms === Number.POSITIVE_INFINITY) expect(found, `${reading} ${name}`).toBe(ms);
      else expect(Math.abs(found / ms - 1), `${reading} ${name}: ${found} for ${ms}`).toBeLessThan(0.00051);
    }
    // Otherwise one column could hold the figure of another.
    const { p50, p90, p95, p99 } = percentiles;
    for (const [less, more] of [
      [p50, p90],
      [p90, p95],
      [p95, p99],
    ])
      expect(more === Number.POSITIVE_INFINITY || more! / less! > 1.00105, reading).toBe(true);
  }
});
