import { NS_PER_MS } from '../../base/units.js';
import { estimate } from '../../report/statistics.js';
import { deviceText } from '../../serve/measure-profile.js';
import { type PrecisionDifference, precisionDifferences } from './precision-difference.js';
import {
  type BenchResult,
  type BenchRun,
  figure,
  type MeasuredStage,
  STAGE_TITLES,
  type StageName,
  stageOf,
} from './result.js';
import { joinPasses, type MeasureOptions, measureStages } from './stages.js';
import { batchRoom, benchSloNs, chosenBatches, enoughClients, fixBatch, type Subject } from './subject.js';
import { BATCH_SIZE, type Vary } from './vary.js';
import { decide } from './verdict.js';

interface BenchOptions extends Omit<MeasureOptions, 'onStage' | 'clients'> {
  /** Processors of the machine. */
  readonly cores: number;
  /** Null: as many as keep all batches full. */
  readonly clients: number | null;
  readonly vary: Vary | null;
  readonly version: string;
  /** Opens the subject with overrides such as `runtime.intraOpThreads=2`. */
  open(overrides: readonly string[]): Promise<Subject>;
  /** Called with the share of the work that is done, and what comes next. */
  onProgress(fraction: number, next: string): void;
}

/**
 * Measures the stages of a server by themselves and together, for each value of the key that is varied, there and back
 * (see `passesOf`). All subjects are opened first, so that a mistake in the last value does not waste the runs before.
 * Throws what opening throws, `E_SERVER` if a trial had no answer, and the coded errors of devices and models.
 */
export async function bench(options: BenchOptions): Promise<BenchResult> {
  const { vary, open, onProgress, version, cores, protocol, trials, seconds, remote } = options;
  const values = vary?.values ?? [null];
  const subjects: Subject[] = [];
  for (const value of values) subjects.push(await openWith(open, vary, value));
  // The same for all values: fewer clients mean fewer requests, whatever is varied.
  const clients =
    options.clients ?? Math.max(...subjects.map((subject) => enoughClients(subject, chosenBatches(subject))));
  const passes = passesOf(subjects.length, trials);
  const stages = (remote ? 4 : 3) * passes.length;
  const measured = subjects.map((): MeasuredStage[][] => []);
  let stage = 0;
  for (const pass of passes) {
    const at = vary === null ? '' : `, ${vary.key} ${values[pass.index]}`;
    const onStage = (name: StageName) => onProgress(stage++ / stages, `${STAGE_TITLES[name]}${at}`);
    const how = { protocol, seconds, remote, trials: pass.trials, clients, onStage };
    measured[pass.index].push(await measureStages(subjects[pass.index], how));
  }
  const [{ name, device, models, mix }] = subjects;
  return {
    version,
    name,
    device: { text: deviceText(device), provider: device.kind },
    cores,
    protocol,
    trials,
    seconds,
    models: models.map(({ spec }, m) => ({
      name: spec.name,
      share: mix[m],
      inputBytes: spec.inputBytes,
      outputBytes: spec.outputBytes,
    })),
    vary,
    runs: subjects.map((subject, i) =>
      runOf(subject, values[i], joinPasses(measured[i]), { ...options, clients }),
    ),
    precision: await differences(vary, subjects),
  };
}

/** If both precisions were measured. */
async function differences(
  vary: Vary | null,
  subjects: readonly Subject[],
): Promise<PrecisionDifference[] | null> {
  if (vary?.key !== 'runtime.precision' || !vary.values.includes('fp16')) return null;
  const full = vary.values.indexOf('fp32');
  return full < 0 ? null : precisionDifferences(subjects[full]);
}

/** What was measured with one value of the key that is varied, and what follows from it. */
function runOf(
  subject: Subject,
  value: string | null,
  stages: readonly MeasuredStage[],
  { clients, protocol, cores }: Pick<BenchOptions, 'protocol' | 'cores'> & { readonly clients: number },
): BenchRun {
  const { models, mix, device, settings } = subject;
  const { intraOpThreads } = device.session;
  const { precision } = settings.runtime;
  const batches = chosenBatches(subject);
  const served = (name: 'io' | 'full') => {
    const { throughputRps, service, otherCores } = stageOf(stages, name);
    if (service === null) throw new Error(`${name} has no clients`);
    return { throughputRps: estimate(throughputRps), service, otherCores };
  };
  return {
    value,
    clients,
    sloMs: benchSloNs(subject, batches, clients) / NS_PER_MS,
    intraOpThreads,
    precision,
    batchSizes: models.map(({ spec }, m) => (mix[m] > 0 ? spec.batchSizes[batches[m]] : null)),
    stages: stages.map(({ p50Ms, p99Ms, throughputRps, ...rest }) => ({
      ...rest,
      throughputRps: figure(throughputRps),
      p50Ms: p50Ms.length === 0 ? null : figure(p50Ms),
      p99Ms: p99Ms.length === 0 ? null : figure(p99Ms),
    })),
    verdict: decide({
      io: served('io'),
      synthetic: estimate(stageOf(stages, 'synthetic').throughputRps),
      full: served('full'),
      batch: batchRoom(subject, batches),
      provider: device.kind,
      cores,
      intraOpThreads,
      precision,
      protocol,
      sloIsGiven: subject.sloNs !== null,
    }),
  };
}

async function openWith(
  open: BenchOptions['open'],
  vary: Vary | null,
  value: string | null,
): Promise<Subject> {
  if (vary === null || value === null) return open([]);
  if (vary.key === BATCH_SIZE) return fixBatch(await open([]), Number(value));
  return open([`${vary.key}=${value}`]);
}

/** One value of the key that is varied has its turn: so many trials of each stage. */
interface Pass {
  /** Of the value. */
  readonly index: number;
  readonly trials: number;
}

/**
 * Through the values and back, with half of the trials each way, so that a machine that becomes slower or faster
 * meanwhile favors none of them. Of an odd number, the way there has one more; with one trial there is no way back. A
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
