import { beforeAll, describe, expect, it } from 'vitest';
import { GIB } from '../../../src/base/units.js';
import type { Provider } from '../../../src/live/device.js';
import type { Check, DoctorReport, Role } from '../../../src/tools/doctor/check.js';
import { type ExamineOptions, examine, type Trials } from '../../../src/tools/doctor/examine.js';
import { LAPTOP, type Recorded, recordedHost, SERVER } from './hosts.js';
import { PERSISTENCE } from './reports.js';

const WAITS = { runs: 600, minMs: 0, medianMs: 0.001, p90Ms: 0.01, p99Ms: 0.1, maxMs: 0.2 };

/** A quiet machine, on which these providers work. */
function trials(...working: Provider[]): Trials & { readonly asked: string[] } {
  const asked: string[] = [];
  return {
    asked,
    probe: async (provider) => {
      asked.push(provider);
      return working.includes(provider)
        ? { outcome: 'runs', provider, onnxruntime: '1.30.0', tookMs: 5 }
        : { outcome: 'fails', provider, reason: 'is not here' };
    },
    timing: async () => ({
      thread: WAITS,
      gaps: { longestNs: 90_000, longPerS: 0, lostShare: 0 },
    }),
    gpus: async (cacheBytes, cudaWanted): Promise<Check[]> => {
      asked.push(`gpus ${cacheBytes} ${cudaWanted}`);
      return [];
    },
  };
}

function examineAs(recorded: Recorded, options: Partial<ExamineOptions>, tried = trials('cpu')) {
  const all = { role: 'worker', device: 'cpu', cacheBytes: 3 * GIB, ...options } as const;
  return examine(recordedHost(recorded), all, tried);
}

it('passes a server that is set up well', async () => {
  const report = await examineAs(SERVER, {});
  expect(report).toMatchObject({ ok: true, container: false });
  expect(report.totals.required.failed + report.totals.advice.failed).toBe(0);
});

describe('a laptop', () => {
  let report: DoctorReport;
  beforeAll(async () => {
    report = await examineAs(LAPTOP, {});
  });

  it('fails what a worker requires, and is advised of the rest', () => {
    const failed = (required: boolean) =>
      report.checks.filter((check) => check.status === 'failed' && check.required === required);
    expect(report.ok).toBe(false);
    expect(failed(true).map(({ id }) => id)).toEqual([
      'limits.open-files',
      'limits.memory-maps',
      'cpu.governor',
      'cpu.huge-pages',
      'environment.allocator',
    ]);
    expect(failed(false).map(({ id }) => id)).toEqual(['cpu.smt']);
  });
});

it.each<[Role, string[]]>([
  ['controller', ['limits', 'cpu', 'runtime', 'timing']],
  ['client', ['limits', 'cpu', 'runtime', 'timing']],
  ['worker', ['limits', 'cpu', 'runtime', 'environment', 'memory', 'timing']],
])('asks a %s about %j', async (role, groups) => {
  const tried = trials('cpu');
  const { checks } = await examineAs(LAPTOP, { role }, tried);
  expect([...new Set(checks.map(({ id }) => id.split('.')[0]))]).toEqual(groups);
  expect(tried.asked.length > 0).toBe(role === 'worker');
});

it('lets the checks of GPUs look at their memory where cuda is asked for', async () => {
  const tried = trials('cpu');
  const { ok } = await examineAs(SERVER, { device: 'cuda' }, tried);
  expect(tried.asked).toContain(`gpus ${3 * GIB} true`);
  // The provider that was asked for does not work.
  expect(ok).toBe(false);
});

it('does not fail a worker on the processor for its GPUs', async () => {
  const gpus = async () => [PERSISTENCE];
  const on = (device: Provider) =>
    examineAs(SERVER, { device }, { ...trials('cpu', 'webgpu', 'cuda'), gpus });
  const cpu = await on('cpu');
  expect(cpu).toMatchObject({ ok: true, totals: { advice: { failed: 1 } } });
  for (const device of ['webgpu', 'cuda'] as const) {
    const { checks } = await on(device);
    expect(checks.find(({ id }) => id === PERSISTENCE.id)).toMatchObject({ required: true });
  }
});
