import { atItsPlace, type ErrorCode, EscapementError } from '../../base/errors.js';
import { NS_PER_MS } from '../../base/units.js';
import type { SourceDocument } from '../../config/document.js';
import type { Experiment } from '../../config/experiment.js';
import type { Case } from '../../config/sweep-section.js';
import { formatDuration } from '../../config/units-text.js';
import { CAUSES, type FailureCounts } from '../../record/causes.js';
import { FEWEST_REQUESTS } from '../../record/model-fairness.js';
import type { BoundFigures, CellResult } from '../../record/results.js';
import type { Threshold } from '../../record/threshold.js';
import { groupBy } from '../../report/lists.js';
import { meanOf, meanOfKnown } from '../../report/statistics.js';
import { costOf } from '../../report/study/points.js';
import { seedChanges } from '../random-streams.js';
import { type CheckedCell, checkCell, kindsLast, seedOverrides } from '../sweep/plan-sweep.js';
import type { CellJob, CellRunner, CellsRequest, Found } from '../sweep/pool.js';
import { BUG, failedOutcome } from '../sweep/run-cell.js';
import { CellStore, runUnit } from '../sweep/units.js';
import { ASIDE, isReplay, judge, type Verdict } from './judge.js';
import { type Over, written } from './over.js';
import { type Candidate, type Details, leastMargin, type Tried } from './plan-result.js';

/** Question of a plan or of scenarios. */
export interface Asked extends Pick<CellsRequest, 'overrides' | 'version' | 'onUnit'> {
  readonly source: SourceDocument;
  /** Ranges that settings of candidates come from. */
  readonly overs: readonly Over[];
  readonly seeds: readonly number[];
  readonly targets: readonly Threshold[];
  /** True: a candidate must also meet its targets after the loss of any one GPU. */
  readonly survives?: boolean;
  /** True: whatever an experiment of a candidate cannot do is a miss, and not the end. */
  readonly isTolerant?: boolean;
}

/** Means of running candidates. */
export interface Means {
  readonly runner: CellRunner;
  /** Storage of finished runs; null: not kept. */
  readonly store: CellStore | null;
}

/** A candidate whose cluster cannot hold a model misses its target; any other failure ends the plan. */
export const REFUSED: ErrorCode = 'E_MODEL_TOO_LARGE';

/** Experiments at the ends of the range that can hold the models, at least one. Throws errors of the experiment. */
export async function endsOf(options: Asked, ends: readonly Candidate[]): Promise<Experiment[]> {
  const found: Experiment[] = [];
  for (const end of ends) {
    try {
      found.push((await cellOf(options, end, options.seeds[0]!)).experiment);
    } catch (error) {
      // If no end can hold the models, there is nothing to plan.
      const isLast = end === ends.at(-1);
      if (failedOutcome(error).code !== REFUSED || (isLast && found.length === 0)) throw error;
    }
  }
  return found;
}

/** Runs of a candidate with further overrides: one per seed, or only one if no seed changes it. */
async function cellsOf(
  options: Asked,
  candidate: Candidate,
  further: readonly string[],
): Promise<readonly CheckedCell[]> {
  const [first, ...others] = options.seeds as [number, ...number[]];
  const one = await cellOf(options, candidate, first, further);
  if (options.survives && one.experiment.cluster.gpus === 1)
    throw new EscapementError(REFUSED, 'no GPU is left when its only one is lost');
  const rest = seedChanges(one.experiment) ? others : [];
  return [one, ...(await Promise.all(rest.map((seed) => cellOf(options, candidate, seed, further))))];
}

/** Throws errors of the experiment. */
async function cellOf(
  { source, overrides, overs, version, targets }: Asked,
  { settings }: Candidate,
  seed: number,
  further: readonly string[] = [],
): Promise<CheckedCell> {
  // No timelines, since nothing draws them.
  const own = [...overrides, ...kindsLast(settings), ...seedOverrides(seed, true), ...further];
  const metrics = targets.map(({ metric }) => metric);
  return checkCell(source, own, { version, metrics }).catch((error: unknown) => {
    throw atItsPlace(error, (override, code) => placeAmong(overs, override, code));
  });
}

/** Place of a setting on the command line; of its whole range if its key is wrong. */
export function placeAmong(overs: readonly Over[], override: string, code: ErrorCode) {
  const over = overs.find(({ key }) => override.startsWith(`${key}=`));
  return over && { flag: `--over ${code === 'E_CONFIG_KEY' ? written(over) : override}` };
}

/** Runs candidates with all seeds and judges them. */
export class Prober {
  private readonly probes = new Map<string, Promise<Tried>>();

  constructor(
    private readonly options: Asked,
    private readonly means: Means,
  ) {}

  /** Runs and judges a candidate, once. Throws errors of the experiment. */
  judge(candidate: Candidate): Promise<Tried> {
    const key = JSON.stringify([candidate.value, candidate.settings]);
    const probe = this.probes.get(key) ?? this.assess(candidate);
    this.probes.set(key, probe);
    return probe;
  }

  /** Upper bounds for any scheduler, one per seed; empty if not known for all of them. */
  async bounds(candidate: Candidate): Promise<BoundFigures[]> {
    const outcomes = await this.run(candidate, [], 'boundCell');
    const bounds = outcomes.flatMap((found) =>
      found.status === 'done' ? (found.result as BoundFigures) : [],
    );
    return bounds.length === outcomes.length ? bounds : [];
  }

  /** Candidates that were judged, in the order in which they were first asked for. */
  tried(): Promise<Tried[]> {
    return Promise.all(this.probes.values());
  }

  /** Runs a job for each seed, and keeps results other than bounds. */
  private async run(
    candidate: Candidate,
    further: readonly string[],
    job: CellJob,
  ): Promise<readonly (Found & { readonly key?: string })[]> {
    const { options, means } = this;
    try {
      const cells = await cellsOf(options, candidate, further);
      return await Promise.all(
        cells.map(async ({ task }) => {
          const unit = { id: candidate.name, task, job };
          const found = await runUnit(unit, job === 'runCell' ? means.store : null, means.runner);
          options.onUnit(unit, found);
          return { ...found, key: task.key };
        }),
      );
    } catch (error) {
      return [failedOutcome(error)];
    }
  }

  /** The worst of a candidate as it is and after each loss that it must survive. */
  private async assess(candidate: Candidate): Promise<Tried> {
    const { options } = this;
    const whole = await this.assessWith(candidate, []);
    if (options.survives !== true || whole.meets !== 'yes') return whole;
    const { experiment } = await cellOf(options, candidate, options.seeds[0]!);
    const losses = lossesOf(experiment, whole.details!.durationSeconds);
    const lost = losses.map(async ({ name, overrides }) => ({
      ...(await this.assessWith(candidate, overrides)),
      lost: name,
    }));
    return worstOf([whole, ...(await Promise.all(lost))], options.targets);
  }

  private async assessWith(candidate: Candidate, further: readonly string[]): Promise<Tried> {
    const { targets, isTolerant = false } = this.options;
    const outcomes = await this.run(candidate, further, 'runCell');
    const cells = outcomes.flatMap(({ key }) => key ?? []);
    const results: CellResult[] = [];
    for (const outcome of outcomes) {
      if (outcome.status === 'done') results.push(outcome.result as CellResult);
      else if (outcome.code !== REFUSED && !(isTolerant && outcome.code !== BUG))
        throw outcome.code === BUG
          ? new Error(`${candidate.settings.join(' ')}: ${outcome.message}`)
          : new EscapementError(outcome.code as ErrorCode, outcome.message);
      else
        return { ...candidate, meets: 'no', figures: [], attainment: null, cells, refused: outcome.message };
    }
    const figures = targets.map((target) => judge(target, results));
    const cost = costOf(results.map(({ summary }) => summary));
    return {
      ...(cost === null ? {} : { costPerHour: cost.perHour, costPerMillion: cost.perMillionInTime }),
      ...{ ...candidate, meets: worstVerdict(figures), figures },
      attainment: meanOfKnown(results.map(({ summary }) => summary.attainment)),
      ...{ details: detailsOf(results), cells },
      ...(isReplay(results) ? { isReplay: true } : {}),
    };
  }
}

function worstVerdict(figures: readonly { readonly meets: Verdict }[]): Verdict {
  const verdicts = figures.map(({ meets }) => meets);
  return verdicts.includes('no') ? 'no' : verdicts.includes('unsure') ? 'unsure' : 'yes';
}

/** A candidate with the figures after the loss with which it is the closest to a miss. */
function worstOf(cases: readonly Tried[], targets: readonly Threshold[]): Tried {
  const margin = (one: Tried) => leastMargin(one, targets);
  const worst = cases.reduce((least, next) => (margin(next) < margin(least) ? next : least));
  return {
    ...worst,
    meets: worstVerdict(cases),
    otherCells: cases.flatMap((one) => (one === worst ? [] : one.cells)),
  };
}

/** Models and pipelines that are named as the first to suffer. */
const MOST_MODELS = 3;

function detailsOf(results: readonly CellResult[]): Details {
  const { attainment, goodputRps, p99 } = ASIDE;
  const summaries = results.map(({ summary }) => summary);
  const parts = summaries.flatMap(({ by: { pipeline = [], model } }) => [
    ...pipeline.map((one) => ({ ...one, key: `pipeline ${one.key}` })),
    ...model,
  ]);
  const worst = [...groupBy(parts, ({ key }) => key)]
    .map(([name, own]) => {
      const offered = own.reduce((sum, { requests }) => sum + requests.offered, 0);
      const ok = own.reduce((sum, { requests }) => sum + requests.ok, 0);
      return { name, offered, attainment: ok / offered };
    })
    .filter(({ offered }) => offered >= FEWEST_REQUESTS * results.length)
    .sort((a, b) => a.attainment - b.attainment)
    .slice(0, MOST_MODELS)
    .map(({ name, attainment: share }) => ({ name, attainment: share }));
  return {
    durationSeconds: results[0]!.summary.durationSeconds,
    offered: meanOf(results.map(({ summary }) => summary.requests.offered)),
    attainment: judge(attainment, results),
    goodputRps: judge(goodputRps, results),
    p99: judge(p99, results),
    failures: causesOf(summaries),
    worst,
  };
}

/** Failed requests of some parts by cause. */
function causesOf(parts: readonly { readonly failures?: FailureCounts }[]): FailureCounts {
  const total = (cause: keyof FailureCounts) =>
    parts.reduce((sum, { failures }) => sum + (failures?.[cause] ?? 0), 0);
  return Object.fromEntries(CAUSES.map((cause) => [cause, total(cause)])) as FailureCounts;
}

/** Files of a plan besides its runs. */
const RESULTS = ['plan.json', 'plan.html', 'scenarios.json'];

/** Storage of a plan's runs; null without a folder. Throws `E_FILE_WRITE`. */
export function openPlanStore(outDir: string | undefined, reuse: boolean): CellStore | null {
  if (outDir === undefined) return null;
  const store = new CellStore(outDir, reuse);
  store.dropResults(RESULTS);
  return store;
}

/** Changes to an experiment, with a name. */
export type WhatIf = Pick<Case, 'name' | 'overrides'>;

/**
 * For each kind of GPUs, the loss of its first one, which policies tend to fill first, for good: when the run is warm,
 * at the end of its warm-up, or else after a tenth of it. Requests count from then on, so nothing before softens it.
 */
export function lossesOf({ cluster, warmupNs, writtenValue }: Experiment, durationSeconds: number): WhatIf[] {
  const failures = writtenValue('cluster.failures') as readonly object[];
  const at = formatDuration(warmupNs > 0 ? warmupNs : Math.floor(durationSeconds * 100) * NS_PER_MS);
  let gpu = 0;
  return cluster.kinds.map(({ name, gpus }) => {
    const lost = { at, gpu, for: 'forever' };
    gpu += gpus;
    return {
      name: `one ${name ?? 'GPU'} lost`,
      overrides: [`cluster.failures=${JSON.stringify([...failures, lost])}`, `warmup=${at}`],
    };
  });
}
