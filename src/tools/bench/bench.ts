import { deviceText } from '../../serve/measure-profile.js';
import { benchRun } from './bench-run.js';
import { fixBatch } from './fix-batch.js';
import { joinPasses } from './join-passes.js';
import { type MeasuredStages, type MeasureOptions, measureStages } from './measure-stages.js';
import { passesOf } from './passes.js';
import { type PrecisionDifference, precisionDifferences } from './precision-difference.js';
import type { BenchResult, MeasuredModel } from './result.js';
import { STAGE_TITLES, type StageName } from './stage.js';
import { chosenBatches, enoughClients, type Subject } from './subject.js';
import { BATCH_SIZE, type Vary } from './vary.js';

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
export async function bench({
  vary,
  open,
  onProgress,
  version,
  clients: given,
  ...how
}: BenchOptions): Promise<BenchResult> {
  const values = vary?.values ?? [null];
  const subjects: Subject[] = [];
  for (const value of values) subjects.push(await openWith(open, vary, value));
  // The same for all values: fewer clients mean fewer requests, whatever is varied.
  const clients =
    given ?? Math.max(...subjects.map((subject) => enoughClients(subject, chosenBatches(subject))));
  const passes = passesOf(subjects.length, how.trials);
  const stages = (how.remote ? 4 : 3) * passes.length;
  const measured = subjects.map((): MeasuredStages[] => []);
  let stage = 0;
  for (const { index, trials } of passes) {
    const at = vary === null ? '' : `, ${vary.key} ${values[index]}`;
    const onStage = (name: StageName) => onProgress(stage++ / stages, `${STAGE_TITLES[name]}${at}`);
    measured[index].push(await measureStages(subjects[index], { ...how, trials, clients, onStage }));
  }
  const runs = subjects.map((subject, i) =>
    benchRun(subject, values[i], joinPasses(measured[i]), { ...how, clients }),
  );
  const [first] = subjects;
  return {
    version,
    name: first.name,
    device: { text: deviceText(first.device), provider: first.device.kind },
    cores: how.cores,
    protocol: how.protocol,
    trials: how.trials,
    seconds: how.seconds,
    models: measuredModels(first),
    vary,
    runs,
    precision: await differences(vary, subjects),
  };
}

/** Where both precisions were measured. */
async function differences(
  vary: Vary | null,
  subjects: readonly Subject[],
): Promise<PrecisionDifference[] | null> {
  if (vary?.key !== 'runtime.precision' || !vary.values.includes('fp16')) return null;
  const full = vary.values.indexOf('fp32');
  return full < 0 ? null : precisionDifferences(subjects[full]);
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

function measuredModels({ models, mix }: Subject): MeasuredModel[] {
  return models.map(({ spec: { name, inputBytes, outputBytes } }, m) => ({
    name,
    share: mix[m],
    inputBytes,
    outputBytes,
  }));
}
