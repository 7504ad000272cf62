import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { checkRun } from '../../src/audit/check-run.js';
import type { Experiment } from '../../src/config/experiment.js';
import { run } from '../../src/run/run.js';
import { SIMULATED, simulate } from '../../src/run/simulated.js';
import { changeLog } from '../audit/run-folder.js';
import { BASE, load } from '../config/experiment-files.js';
import { KINDS } from '../policies/gpu-loss-options.js';
import { MS } from '../sim/fixtures.js';

const SCALED = `${BASE.replace(
  /^cluster:.*\n/m,
  `cluster:
  pages: 20
  network: { delay: 200us, jitter: 300us }
  gpus:
    - { kind: a, count: 1, min: 1, max: 4, start: 300ms, price: 2/h }
    - { kind: b, count: 0, max: 3, start: 100ms, price: 1/h, speed: 0.4 }
`,
).replace(
  /^workload:.*\n/m,
  'workload: { kind: on-off, onRate: 1500/s, offRate: 50/s, on: 400ms, off: 600ms, duration: 4s }\n',
)}checks: true
scaler: { kind: reactive, interval: 50ms, stabilization: 200ms }
`;

/** Runs with logs; what is wrong in them, in words. */
async function audited(experiment: Experiment) {
  const dir = mkdtempSync(join(tmpdir(), 'escapement-'));
  const { result } = await run(experiment, SIMULATED, { outDir: dir });
  writeFileSync(join(dir, 'run.json'), JSON.stringify(result));
  const { claims, violations, rules } = checkRun(dir, { slackNs: 0 });
  const wrong = [...claims.filter(({ ok }) => !ok), ...violations].map((one) => JSON.stringify(one));
  return { result, dir, wrong, rules };
}

/** From the order of each GPU until it was called off or began to drain. */
function lifetimesMs(dir: string): { readonly gpu: number; readonly ms: number }[] {
  const [, ...rows] = readFileSync(join(dir, 'gpus.tsv'), 'utf8').trim().split('\n');
  const [OFF, STARTING, , DRAINING] = [0, 1, 2, 3];
  const ordered = new Map<number, number>();
  return rows.flatMap((row) => {
    const [t, , gpu, state] = row.split('\t').map(Number) as [number, number, number, number];
    if (state === STARTING) ordered.set(gpu, t);
    const since = ordered.get(gpu);
    if ((state !== DRAINING && state !== OFF) || since === undefined) return [];
    ordered.delete(gpu);
    return [{ gpu, ms: (t - since) / MS }];
  });
}

describe('GPUs that come and go by a scaler', () => {
  it.each(KINDS)('are used by %s only while they are there, and all claims hold', async (kind) => {
    const options = JSON.stringify({ kind });
    const { result, wrong, rules } = await audited(await load(SCALED, [`policy=${options}`]));
    expect(wrong).toEqual([]);
    expect(rules.find(({ rule }) => rule === 'fleet')?.checked).toBeGreaterThan(50);
    expect(result.summary.scaling).toMatchObject({ scaler: 'reactive' });
    expect(result.summary.scaling?.ordered).toBeGreaterThan(3);
    expect(result.summary.scaling?.stopped).toBeGreaterThan(3);
  });

  it('are kept for their shortest lifetime, counted from their order', async () => {
    const shortest = async (minLifetime: string) => {
      const short = [
        'scaler.stabilization=0s',
        'cluster.gpus.a.max=8',
        `cluster.gpus.a.minLifetime=${minLifetime}`,
      ];
      const { dir, wrong, result } = await audited(await load(SCALED, short));
      expect(wrong).toEqual([]);
      return { lives: lifetimesMs(dir).filter(({ gpu }) => gpu < 8), scaling: result.summary.scaling! };
    };
    const free = await shortest('0s');
    expect(Math.min(...free.lives.map(({ ms }) => ms))).toBeLessThan(500);
    const kept = await shortest('700ms');
    expect(kept.lives.length).toBeGreaterThan(2);
    for (const { ms } of kept.lives) expect(ms).toBeGreaterThanOrEqual(700);
    expect(kept.scaling.gpuHours).toBeGreaterThan(free.scaling.gpuHours);
  });

  it.each(['predictive', 'clairvoyant'])(
    'are not ordered by %s for what is beyond the rate of a tenant',
    async (kind) => {
      const text = SCALED.replace(
        /^workload:.*\n/m,
        `workload:
  - { kind: poisson, rate: 300/s, duration: 2s }
  - { kind: poisson, rate: 3000/s, duration: 2s, tenant: flood }
tenants: { list: [{ name: any }, { name: flood, rate: 20/s, burst: 1 }] }
`,
      ).replace(/^scaler:.*\n/m, `scaler: { kind: ${kind}, interval: 50ms }\n`);
      const [flooded, quiet] = [
        await simulate(await load(text)),
        await simulate(await load(text, ['workload.1.rate=20/s'])),
      ];
      expect(flooded.summary.by.tenant?.[1]?.failures?.overRate).toBeGreaterThan(5000);
      expect(flooded.summary.scaling?.meanGpus).toBeLessThan(1.2 * quiet.summary.scaling!.meanGpus!);
    },
  );

  it('are paid for from the order on: GPU-hours and cost follow from the log', async () => {
    const { result, dir } = await audited(await load(SCALED, ['warmup=1s']));
    const rows = readFileSync(join(dir, 'gpus.tsv'), 'utf8').trim().split('\n').slice(1);
    // Walks through time instead of adding up GPUs: how many are paid for between two rows.
    const paid = new Map<string, boolean>();
    const spent = [0, 0];
    let lastNs = 0;
    const clip = (ns: number) => Math.min(4e9, Math.max(1e9, ns));
    for (const row of [...rows.map((line) => line.split('\t')), ['9e9', '0', '0', '0']]) {
      const [t, , gpu, state] = row;
      for (const [of, isPaid] of paid)
        if (isPaid) spent[Number(of) < 4 ? 0 : 1] += clip(Number(t)) - clip(lastNs);
      lastNs = Number(t);
      paid.set(gpu, state !== '0');
    }
    const { scaling, by, cost } = result.summary;
    expect(by.kind?.map(({ gpuHours }) => gpuHours)).toEqual([
      expect.closeTo(spent[0] / 3600e9, 12),
      expect.closeTo(spent[1] / 3600e9, 12),
    ]);
    expect(scaling?.gpuHours).toBeCloseTo((spent[0] + spent[1]) / 3600e9, 12);
    expect(cost?.perHour).toBeCloseTo((spent[0] * 2 + spent[1]) / 3e9, 9);
  });

  it('are seen by the audit if a log claims work on one that is off', async () => {
    const { dir } = await audited(await load(SCALED));
    const path = join(dir, 'gpus.tsv');
    changeLog(path, path, (rows) => {
      const drained = rows.findIndex(({ state }) => state === 3);
      rows[drained].t -= 20 * MS;
      return rows.sort((a, b) => a.t - b.t);
    });
    expect(checkRun(dir, { slackNs: 0 }).violations.map(({ rule }) => rule)).toContain('fleet');
  });
});
