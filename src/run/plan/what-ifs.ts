import { stringify } from 'yaml';
import { atItsPlace, EscapementError } from '../../base/errors.js';
import { buildExperiment } from '../../config/build.js';
import type { Experiment } from '../../config/experiment.js';
import { ON_DISK } from '../../config/files-on-disk.js';
import { readExperimentSource } from '../../config/load.js';
import { openWorkloads } from '../../config/open-workloads.js';
import { partNames } from '../../config/part-names.js';
import { targetNames } from '../../config/pipelines.js';
import { type Case, placeInCase } from '../../config/sweep-section.js';
import { parseCount } from '../../config/units-text.js';
import { refuseUnknownParts } from '../../record/threshold.js';
import { significant } from '../../text/numbers.js';
import { drain } from '../../workload/source.js';
import { seedChanges } from '../random-streams.js';
import { parseSeeds } from '../sweep/plan-sweep.js';
import type { CellsRequest } from '../sweep/pool.js';
import { parseTarget } from './judge.js';
import type { Headroom, PlanInputs, Tried, WhatIfs } from './plan-result.js';
import {
  type Asked,
  endsOf,
  lossesOf,
  type Means,
  openPlanStore,
  Prober,
  REFUSED,
  type WhatIf,
} from './prober.js';

const BASELINE: WhatIf = { name: 'baseline', overrides: [] };
/** Names that scenarios of a file must not have. */
const BUILT_IN = /^(?:baseline|traffic × .*|one .* lost|hottest (?:model|pipeline) × .*|profiles .* slower)$/;
const TRAFFIC = [1.5, 2, 3];
const HOTTEST = 5;
/** Increase of the durations of INFERs over those of the profiles. */
const SLOWER = 0.2;

/**
 * Runs an experiment under the scenarios of its file and some that concern every plan, and finds how much more traffic
 * it can take. All runs have the same seeds.
 */
export async function runWhatIfs(options: Asked, means: Means): Promise<WhatIfs> {
  const { source, overrides, seeds, targets } = options;
  const experiment = await buildExperiment(source, {
    overrides: [...overrides, `seed=${seeds[0]}`],
    host: ON_DISK,
  });
  const prober = new Prober({ ...options, isTolerant: true }, means);
  const judge = ({ name, overrides: settings }: WhatIf) => prober.judge({ value: name, name, settings });
  const baseline = await judge(BASELINE);
  const { durationSeconds = 0 } = baseline.details ?? {};
  const others = [
    ...experiment.scenarios,
    ...TRAFFIC.map((times) => trafficTimes(times, experiment)),
    ...(experiment.scaler.kind === 'none' ? lossesOf(experiment, durationSeconds) : []),
    ...(await hotter(experiment)),
    slowerProfiles(experiment),
  ];
  const scenarios = [baseline, ...(await Promise.all(others.map(judge)))];
  const withFactor = (factor: number) => judge(factor === 1 ? BASELINE : trafficTimes(factor, experiment));
  const headroom = targets.length === 0 ? null : await findHeadroom(withFactor);
  return { scenarios, headroom, setup: setupOf(experiment), assumed: assumedOf(experiment) };
}

/** The GPUs and the policy of an experiment, as a part of its file. */
function setupOf({ policy: { kind }, writtenValue }: Experiment): string {
  const gpus = writtenValue('cluster.gpus') as number | readonly { readonly count?: number }[];
  const rented = typeof gpus === 'number' ? [] : gpus.filter(({ count }) => count !== 0);
  const kinds = rented.map((one) => `\n    - ${inLine(one)}`).join('');
  return `cluster:\n  gpus:${kinds === '' ? ` ${gpus}` : kinds}\npolicy: ${inLine(writtenValue('policy') ?? { kind })}`;
}

/** Settings that may not hold for a real cluster, as written or by default, and guesses behind them. */
export function assumedOf({ writtenValue, warnings, assumed }: Experiment): [string, string][] {
  return [
    ...ASSUMED.flatMap((key): [string, string][] => {
      const value = key === 'cluster.memory' && !sharesMemory(writtenValue) ? undefined : writtenValue(key);
      return value === undefined ? [] : [[key, inLine(value)]];
    }),
    ...warnings.map((text): [string, string] => ['profiles', text]),
    ...assumed.map((text): [string, string] => ['guess', text]),
  ];
}

/** True if some GPUs have the memory of the cluster, for want of a size of their own. */
function sharesMemory(writtenValue: Experiment['writtenValue']): boolean {
  const kinds = [writtenValue('cluster.gpus')].flat() as (number | { readonly [size: string]: unknown })[];
  const isOwn = (one: (typeof kinds)[number]) =>
    typeof one !== 'number' && ('memory' in one || 'pages' in one);
  return writtenValue('cluster.pages') === undefined && !kinds.every(isOwn);
}

const ASSUMED = [
  ...['workload', 'traffic', 'slo', 'warmup', 'pipelines'],
  ...['cluster.memory', 'cluster.network', 'cluster.noise'],
];

function inLine(value: unknown): string {
  return stringify(value, { collectionStyle: 'flow', lineWidth: 0 }).trimEnd();
}

/** An experiment in its scenarios, as `scenarios --json` prints it. Does not depend on the number of threads. */
export interface ScenarioResults extends WhatIfs, PlanInputs {
  readonly version: 1;
}

/** Runs of a plan or of scenarios that a command asks for. */
export interface RunsRequest extends CellsRequest {
  /** `--target` flags; all of them must hold. */
  readonly targets: readonly string[];
  /** Called once, after all checks and before the first run, with the number of candidates. */
  readonly onStart: (seeds: readonly number[], candidates: number) => void;
}

/** Reads the flags and the file. Throws `E_USAGE`, and the errors of reading. */
export async function askedBy(request: RunsRequest): Promise<Asked> {
  const { file, overrides, version, onUnit } = request;
  const targets = request.targets.map(parseTarget);
  const seeds = parseSeeds(request.seeds);
  return { source: await readExperimentSource(file), overs: [], overrides, seeds, targets, version, onUnit };
}

/**
 * Checks the experiments of a plan or of scenarios, and opens what runs them. `whatIf`: the candidate that also runs in
 * the scenarios of the file, if any. Throws errors of the experiment and the flags.
 */
export async function openRuns(
  { onStart, outDir, fresh, runner }: RunsRequest,
  asked: Asked,
  ends: readonly Experiment[],
  whatIf: WhatIf | null,
  candidates: number,
): Promise<Means> {
  const { seeds, targets } = asked;
  refuseUnknownParts(targets, ends.map(partNames), 'target');
  if (whatIf !== null) await checkScenarios(asked, ends[0]!.scenarios, whatIf.overrides);
  const means = { runner, store: openPlanStore(outDir, !fresh) };
  onStart(ends.some(seedChanges) ? seeds : seeds.slice(0, 1), candidates);
  return means;
}

/** Question of a plan or of scenarios, for its results. */
export function inputsOf(
  { version, source, overrides, targets, seeds }: Asked,
  { name, policy }: Experiment,
): PlanInputs {
  return {
    ...{ escapement: version, name, policy: policy.kind, experiment: source.text },
    ...{ overrides, targets, seeds },
  };
}

/** Runs an experiment in its scenarios. Throws errors of the experiment and the flags. */
export async function runScenarios(request: RunsRequest): Promise<ScenarioResults> {
  const asked = await askedBy(request);
  const ends = await endsOf(asked, [{ ...BASELINE, value: BASELINE.name, settings: [] }]);
  const [experiment] = ends as [Experiment];
  const means = await openRuns(request, asked, ends, BASELINE, experiment.scenarios.length);
  return { version: 1, ...inputsOf(asked, experiment), ...(await runWhatIfs(asked, means)) };
}

/** Throws errors of an experiment in the scenarios of its file. */
async function checkScenarios(
  { source, overrides: given }: Asked,
  scenarios: readonly Case[],
  further: readonly string[],
): Promise<void> {
  const overrides = [...given, ...further];
  for (const [i, one] of scenarios.entries()) {
    if (BUILT_IN.test(one.name)) {
      const what = `${one.name} is the name of a scenario that always runs: give it another`;
      throw new EscapementError('E_CONFIG_VALUE', what, source.placeOf(['scenarios', i, 'name']));
    }
    try {
      await buildExperiment(source, { overrides: [...overrides, ...one.overrides], host: ON_DISK });
    } catch (error) {
      if (!(error instanceof EscapementError)) throw error;
      if (error.code !== REFUSED) throw atItsPlace(error, (override) => placeInCase(one, override, source));
    }
  }
}

function trafficTimes(times: number, { writtenValue }: Experiment): WhatIf {
  const factor = significant(times * parseCount(writtenValue('traffic.factor')), 6);
  return { name: `traffic × ${times}`, overrides: [`traffic.factor=${factor}`] };
}

/** The clock of all GPUs is lower from the start than when they were measured; schedulers begin with the profiles. */
function slowerProfiles({ writtenValue }: Experiment): WhatIf {
  const gpuClock = writtenValue('cluster.gpuClock') as readonly { readonly factor: number }[];
  const slower = [{ at: '0s', factor: 1 }, ...gpuClock].map((change) => ({
    ...change,
    factor: change.factor / (1 + SLOWER),
  }));
  return {
    name: `profiles ${100 * SLOWER} % slower`,
    overrides: [`cluster.gpuClock=${JSON.stringify(slower)}`],
  };
}

/** Scenario with more requests of the most requested model or pipeline; empty if there is only one, or with closed loops. */
async function hotter(experiment: Experiment): Promise<WhatIf[]> {
  const { workloads } = experiment;
  const targets = targetNames(experiment.models, experiment.pipelines);
  if (targets.length === 1 || workloads.some(({ kind }) => kind === 'closed-loop')) return [];
  const { source } = await openWorkloads(experiment);
  const counts = new Float64Array(targets.length);
  await drain(source, ({ model }) => {
    counts[model]!++;
  });
  const hottest = counts.indexOf(Math.max(...counts));
  const name = targets[hottest]!;
  const written = experiment.writtenValue('traffic.models') as Readonly<Record<string, unknown>>;
  const factors = { ...written, [name]: HOTTEST * parseCount(written[name] ?? 1) };
  return [
    {
      name: `hottest ${hottest < experiment.models.length ? 'model' : 'pipeline'} × ${HOTTEST} (${name})`,
      overrides: [`traffic.models=${JSON.stringify(factors)}`],
    },
  ];
}

const UP = [1.5, 2, 3, 4, 6, 8, 12, 16, 24, 32];
const DOWN = [0.7, 0.5, 0.3, 0.2, 0.1, 0.05];
/** Ratio of the factors between which the search ends. */
const CLOSE = 1.02;

/** Looks for the factor by steps away from 1, then by bisection. */
async function findHeadroom(judge: (factor: number) => Promise<Tried>): Promise<Headroom> {
  const tried: Tried[] = [];
  const holds = async (factor: number) => {
    const found = await judge(factor);
    tried.push(found);
    return found.meets === 'yes';
  };
  let [low, high]: (number | null)[] = [null, null];
  const atOnce = await holds(1);
  if (atOnce) low = 1;
  else high = 1;
  for (const factor of atOnce ? UP : DOWN) {
    const found = await holds(factor);
    if (found) low = factor;
    else high = factor;
    if (found !== atOnce) break;
  }
  while (low !== null && high !== null && high / low > CLOSE) {
    const middle = significant(Math.sqrt(low * high), 3);
    if (await holds(middle)) low = middle;
    else high = middle;
  }
  return { holds: low, misses: high, tried };
}
