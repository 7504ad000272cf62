import { readServerSettings } from '../../../src/config/server-settings.js';
import { DEFAULT_SESSION } from '../../../src/live/device.js';
import type { WorkerModel } from '../../../src/live/model.js';
import { bottleneckOf } from '../../../src/tools/bench/bottleneck.js';
import {
  type BenchResult,
  type BenchRun,
  figure,
  type Service,
  type StageSummary,
} from '../../../src/tools/bench/result.js';
import type { Subject } from '../../../src/tools/bench/subject.js';

const MS = 1e6;

/** A model with the given durations by batch size, ms. */
export function workerModel(name: string, execMs: Readonly<Record<number, number>>): WorkerModel {
  const batchSizes = Object.keys(execMs).map(Number);
  const tensor = { datatype: 'FP32' as const, shape: [4], bytes: 16 };
  return {
    spec: {
      name,
      weightsBytes: 1000,
      pages: 1,
      loadNs: MS,
      batchSizes,
      execNs: batchSizes.map((size) => execMs[size] * MS),
      inputBytes: 16,
      outputBytes: 16,
    },
    signature: {
      inputs: [{ name: 'input', ...tensor }],
      outputs: [{ name: 'logits', ...tensor }],
      batched: true,
    },
    version: '1',
    sloNs: null,
    ortPath: `${name}.ort`,
  };
}

/** `overrides` as of `--set`. */
export async function subjectOf(
  models: readonly WorkerModel[],
  overrides: readonly string[] = [],
): Promise<Subject> {
  return {
    name: 'models',
    devices: [{ kind: 'cpu', adapter: 0, session: DEFAULT_SESSION }],
    models,
    pages: 100,
    pageBytes: 1000,
    settings: (await readServerSettings({ file: null, environment: [], overrides })).settings,
    sloNs: null,
  };
}

export function service(change: Partial<Service> = {}): Service {
  return {
    generator: { busy: 0.3, cores: 0.3 },
    server: { busy: 0.5, cores: 1 },
    failedShare: 0,
    meanBatch: 8,
    deviceBusy: 0.95,
    ...change,
  };
}

/** Trials around a mean: ± `spread` of it. */
export function around(mean: number, spread = 0.01): number[] {
  return [1 - spread, 1, 1 + spread, 1, 1].map((factor) => mean * factor);
}

export function runOf(
  value: string | null,
  [io, synthetic, full]: readonly [number, number, number],
  { spread, change }: { readonly spread?: number; readonly change?: Partial<StageSummary> } = {},
): BenchRun {
  const served = (name: 'io' | 'full', mean: number): StageSummary => ({
    stage: name,
    throughputRps: figure(around(mean, name === 'full' ? spread : undefined)),
    p50Ms: figure(around(12)),
    p99Ms: figure(around(34)),
    service: service(),
    ...(name === 'io' ? change : {}),
  });
  const stages: StageSummary[] = [
    served('io', io),
    {
      stage: 'synthetic',
      throughputRps: figure(around(synthetic)),
      p50Ms: null,
      p99Ms: null,
      service: null,
    },
    served('full', full),
  ];
  return {
    value,
    clients: 16,
    sloMs: 1000,
    intraOpThreads: 1,
    precision: 'fp32',
    batchSizes: [8],
    stages,
    bottleneck: bottleneckOf({ stages }),
  };
}

export function resultOf(vary: BenchResult['vary'], runs: readonly BenchRun[]): BenchResult {
  return {
    version: '1.2.3',
    name: 'models',
    device: { text: 'Some CPU, 1 thread', provider: 'cpu' },
    cores: 4,
    protocol: 'http',
    trials: 5,
    seconds: 2,
    models: [{ name: 'resnet18', inputBytes: 49_152, outputBytes: 4000 }],
    vary,
    runs,
  };
}
