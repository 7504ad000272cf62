import { dirname } from 'node:path';
import { NS_PER_MS } from '../../base/units.js';
import type { OrtDeviceSpec } from '../../live/device.js';
import { comparePrecision } from '../../live/models/measure/compare-precision.js';
import { modelFile } from '../../live/models/precision.js';
import { readModelFile } from '../../live/models/repository.js';
import { deviceText } from '../../serve/measure-profile.js';
import { bottleneckOf } from './bottleneck.js';
import {
  type BenchResult,
  type BenchRun,
  figure,
  type MeasuredStage,
  type PrecisionDifference,
  STAGES,
  type StageName,
} from './result.js';
import { joinPasses, type MeasureOptions, measureStages } from './stages.js';
import { benchSloNs, chosenBatches, enoughClients, fixBatch, type Subject, withCopies } from './subject.js';
import { BATCH_SIZE, GPUS, type Vary } from './vary.js';

const ALL_STAGES = Object.keys(STAGES) as StageName[];

interface BenchOptions extends Omit<MeasureOptions, 'clients'> {
  /** Number of processors of the machine. */
  readonly cores: number;
  /** Null: enough to keep all batches full. */
  readonly clients: number | null;
  readonly vary: Vary | null;
  readonly version: string;
  /** Opens the subject with overrides such as `runtime.intraOpThreads=2`, on this many GPUs. */
  open(overrides: readonly string[], gpus: number): Promise<Subject>;
  /** Called with the finished share of the work, and the next step. */
  onProgress(fraction: number, next: string): void;
}

/**
 * Measures the stages of a server separately and together, for each value of the varied key, there and back (see
 * `passesOf`). All subjects are opened first, so that a mistake in the last value does not waste the runs before.
 * Throws errors of opening, `E_SERVER` if a trial had no answer, and the coded errors of devices and models.
 */
export async function bench(options: BenchOptions): Promise<BenchResult> {
  const { vary, open, onProgress, version, cores, protocol, trials, seconds } = options;
  const values = vary?.values ?? [null];
  const subjects: Subject[] = [];
  for (const value of values) subjects.push(await openWith(open, vary, value));
  // One device has no stages to tell apart on more and more GPUs: the whole server shows what they bring.
  const names: readonly StageName[] = vary?.key === GPUS ? ['full'] : ALL_STAGES;
  // Equal for all values: fewer clients mean fewer requests, regardless of the varied key.
  const clients =
    options.clients ?? Math.max(...subjects.map((subject) => enoughClients(subject, chosenBatches(subject))));
  const passes = passesOf(subjects.length, trials);
  const stages = names.length * passes.length;
  const measured = subjects.map((): MeasuredStage[][] => []);
  let done = 0;
  for (const pass of passes) {
    const at = vary === null ? '' : `, ${vary.key} ${values[pass.index]}`;
    const how = { protocol, seconds, trials: pass.trials, clients };
    measured[pass.index].push(
      await measureStages(subjects[pass.index], names, how, (stage) =>
        onProgress(done++ / stages, `${STAGES[stage]}${at}`),
      ),
    );
  }
  const [{ name, devices, models, mix }] = subjects;
  const [device] = devices;
  return {
    version,
    name,
    device: {
      text: device.kind === 'simulated' ? 'emulated GPUs, by profile' : deviceText(device),
      provider: device.kind,
    },
    ...{ cores, protocol, trials, seconds },
    models: models.map(({ spec: { name, inputBytes, outputBytes } }, m) => ({
      ...{ name, share: mix[m], inputBytes, outputBytes },
    })),
    vary,
    runs: subjects.map((subject, i) => runOf(subject, values[i], joinPasses(measured[i]), clients)),
    precision: await differences(vary, subjects),
  };
}

/** Measurements with one value of the varied key. */
function runOf(
  subject: Subject,
  value: string | null,
  measured: readonly MeasuredStage[],
  clients: number,
): BenchRun {
  const { models, mix, settings } = subject;
  const batches = chosenBatches(subject);
  const stages = measured.map(({ p50Ms, p99Ms, throughputRps, ...rest }) => ({
    ...rest,
    throughputRps: figure(throughputRps),
    p50Ms: p50Ms.length === 0 ? null : figure(p50Ms),
    p99Ms: p99Ms.length === 0 ? null : figure(p99Ms),
  }));
  return {
    value,
    clients,
    sloMs: benchSloNs(subject, batches, clients) / NS_PER_MS,
    intraOpThreads: settings.runtime.intraOpThreads,
    precision: settings.runtime.precision,
    batchSizes: models.map(({ spec }, m) => (mix[m] > 0 ? spec.batchSizes[batches[m]] : null)),
    stages,
    bottleneck: stages.length < ALL_STAGES.length ? null : bottleneckOf({ stages }),
  };
}

async function openWith(
  open: BenchOptions['open'],
  vary: Vary | null,
  value: string | null,
): Promise<Subject> {
  if (vary === null || value === null) return open([], 1);
  if (vary.key === BATCH_SIZE) return fixBatch(await open([], 1), Number(value));
  if (vary.key !== GPUS) return open([`${vary.key}=${value}`], 1);
  return withCopies(await open([], Number(value)), Math.max(...vary.values.map(Number)));
}

/** Output differences of each model with requests, if both precisions were measured. Throws `E_MODEL_FILE`. */
async function differences(
  vary: Vary | null,
  subjects: readonly Subject[],
): Promise<PrecisionDifference[] | null> {
  const full = subjects[vary?.values.indexOf('fp32') ?? -1];
  if (vary?.key !== 'runtime.precision' || !vary.values.includes('fp16') || full === undefined) return null;
  const found: PrecisionDifference[] = [];
  for (const [m, { spec, ortPath }] of full.models.entries()) {
    if (full.mix[m] === 0 || ortPath === null) continue;
    // Optimised models are next to their originals.
    const versionDir = dirname(ortPath);
    const pair = {
      fp32: await readModelFile(modelFile(versionDir, 'fp32')),
      fp16: await readModelFile(modelFile(versionDir, 'fp16')),
    };
    const difference = await comparePrecision(pair, full.devices[0] as OrtDeviceSpec);
    const { requests, values, maxAbsolute, largestOutput, sameLargest } = difference;
    const maxRelative = largestOutput === 0 ? 0 : maxAbsolute / largestOutput;
    const overflowed = difference.overflowed / values;
    found.push({ model: spec.name, requests, maxAbsolute, maxRelative, overflowed, sameLargest });
  }
  return found;
}

/** A turn of one value of the varied key: a number of trials of each stage. */
interface Pass {
  /** Index of the value. */
  readonly index: number;
  readonly trials: number;
}

/**
 * Order of trials: through the values and back, with half of the trials each way, so that a machine that becomes slower
 * or faster favors none of them. Of an odd number, the way there has one more; with one trial there is no way back. A
 * single value has all its trials at once.
 */
export function passesOf(values: number, trials: number): Pass[] {
  const there = Array.from({ length: values }, (_, index) => index);
  const backTrials = values === 1 ? 0 : Math.floor(trials / 2);
  const back = backTrials === 0 ? [] : there.toReversed();
  return [
    ...there.map((index) => ({ index, trials: trials - backTrials })),
    ...back.map((index) => ({ index, trials: backTrials })),
  ];
}
