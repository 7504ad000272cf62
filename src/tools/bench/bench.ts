import { NS_PER_MS } from '../../base/units.js';
import { deviceText } from '../../serve/profiles.js';
import { bottleneckOf } from './bottleneck.js';
import { type BenchResult, type BenchRun, STAGES, type StageName, type StageSummary } from './result.js';
import { type MeasureOptions, measureStages } from './stages.js';
import { benchSloNs, chosenBatches, enoughClients, type Subject, withCopies } from './subject.js';
import { GPUS, type Vary } from './vary.js';

const ALL_STAGES = Object.keys(STAGES) as StageName[];

interface BenchOptions extends Omit<MeasureOptions, 'clients'> {
  /** Number of processors of the machine. */
  readonly cores: number;
  /** Number of clients; null: enough to keep all batches full. */
  readonly clients: number | null;
  readonly vary: Vary | null;
  readonly version: string;
  /** Opens the subject with overrides such as `runtime.intraOpThreads=2`, on this many GPUs. */
  open(overrides: readonly string[], gpus: number): Promise<Subject>;
  /** Called with the finished share of the work, and the next step. */
  onProgress(fraction: number, next: string): void;
}

/**
 * Measures the stages of a server separately and together, for each value of the varied key. All subjects are opened
 * first, so that a mistake in the last value does not waste the earlier runs. Throws errors of opening, `E_SERVER` if
 * there are too few answers, and the coded errors of devices and models.
 */
export async function bench(options: BenchOptions): Promise<BenchResult> {
  const { vary, open, onProgress, version, cores, protocol, trials, seconds } = options;
  const values = vary?.values ?? [null];
  const subjects: Subject[] = [];
  for (const value of values) subjects.push(await openWith(open, vary, value));
  // With a varying number of GPUs, only the whole server is measured.
  const names: readonly StageName[] = vary?.key === GPUS ? ['full'] : ALL_STAGES;
  // Equal for all values: fewer clients mean fewer requests, regardless of the varied key.
  const clients =
    options.clients ?? Math.max(...subjects.map((subject) => enoughClients(subject, chosenBatches(subject))));
  const stages = names.length * subjects.length;
  const runs: BenchRun[] = [];
  let done = 0;
  for (const [i, subject] of subjects.entries()) {
    const at = vary === null ? '' : `, ${vary.key} ${values[i]}`;
    const measured = await measureStages(subject, names, { protocol, seconds, trials, clients }, (stage) =>
      onProgress(done++ / stages, `${STAGES[stage]}${at}`),
    );
    runs.push(runOf(subject, values[i], measured, clients));
  }
  const [{ name, devices, models }] = subjects;
  const [device] = devices;
  return {
    version,
    name,
    device: {
      text: device.kind === 'simulated' ? 'emulated GPUs, by profile' : deviceText(device),
      provider: device.kind,
    },
    ...{ cores, protocol, trials, seconds },
    models: models.map(({ spec: { name, inputBytes, outputBytes } }) => ({ name, inputBytes, outputBytes })),
    vary,
    runs,
  };
}

/** Measurements with one value of the varied key. */
function runOf(
  subject: Subject,
  value: string | null,
  stages: readonly StageSummary[],
  clients: number,
): BenchRun {
  const { models, settings } = subject;
  const batches = chosenBatches(subject);
  return {
    value,
    clients,
    sloMs: benchSloNs(subject, batches, clients) / NS_PER_MS,
    intraOpThreads: settings.runtime.intraOpThreads,
    precision: settings.runtime.precision,
    batchSizes: models.map(({ spec }, m) => spec.batchSizes[batches[m]]),
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
  if (vary.key !== GPUS) return open([`${vary.key}=${value}`], 1);
  return withCopies(await open([], Number(value)), Math.max(...vary.values.map(Number)));
}
