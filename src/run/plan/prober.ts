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
import { isOneSample, meanOf, meanOfKnown } from '../../report/statistics.js';
import { costOf } from '../../report/study/points.js';
import { seedChanges } from '../random-streams.js';
import { CellStore } from '../sweep/cell-store.js';
import { buildGrid, cellOverrides } from '../sweep/grid.js';
import { type CheckedCell, checkCell } from '../sweep/plan.js';
import type { CellJob, CellRunner } from '../sweep/pool.js';
import { BUG, failedOutcome } from '../sweep/run-cell.js';
import { type Found, runUnit } from '../sweep/units.js';
import { ASIDE, judge, type Verdict } from './judge.js';
import { type Candidates, overridesOf, placeAmong } from './over.js';
import { type Details, leastMargin, type Tried } from './plan-result.js';
import { overRate, type Reach } from './reach.js';

export interface ProberOptions {
  readonly source: SourceDocument;
  /** `--set` overrides, for every candidate. */
  readonly overrides: readonly string[];
  readonly candidates: Candidates;
  readonly seeds: readonly number[];
  readonly targets: readonly Threshold[];
  /** Version of the program: results of another version are not reused. */
  readonly version: string;
  /** True: a candidate must also meet its targets after the loss of any one GPU. */
  readonly survives?: boolean;
  /** True: whatever an experiment of a candidate cannot do is a miss, and not the end. */
  readonly isTolerant?: boolean;
  /** Called for each finished run; `reused`: its result came from an earlier plan. */
  readonly onRun: (reused: boolean) => void;
}

/** Means of running candidates. */
export interface Means {
  readonly reach: Reach;
  readonly runner: CellRunner;
  /** Storage of finished runs; null: not kept. */
  readonly store: CellStore | null;
}

/** A candidate whose cluster cannot hold a model misses its target; any other failure ends the plan. */
export const REFUSED: ErrorCode = 'E_MODEL_TOO_LARGE';

/** Experiments at the ends of the range that can hold the models, at least one. Throws errors of the experiment. */
export async function endsOf(options: ProberOptions): Promise<readonly Experiment[]> {
  const { candidates, seeds } = options;
  const ends: Experiment[] = [];
  for (const index of candidates.ends) {
    try {
      ends.push((await cellOf(options, index, seeds[0]!)).experiment);
    } catch (error) {
      // If no end can hold the models, there is nothing to plan.
      const isLast = index === candidates.ends.at(-1);
      if (failedOutcome(error).code !== REFUSED || (isLast && ends.length === 0)) throw error;
    }
  }
  return ends;
}

/** Runs of a candidate with further overrides: one per seed, or only one if no seed changes it. */
async function cellsOf(
  options: ProberOptions,
  index: number,
  further: readonly string[],
): Promise<readonly CheckedCell[]> {
  const [first, ...others] = options.seeds as [number, ...number[]];
  const one = await cellOf(options, index, first, further);
  if (options.survives && one.experiment.cluster.gpus === 1)
    throw new EscapementError(REFUSED, 'no GPU is left when its only one is lost');
  const rest = seedChanges(one.experiment) ? others : [];
  return [one, ...(await Promise.all(rest.map((seed) => cellOf(options, index, seed, further))))];
}

/** Throws errors of the experiment. */
async function cellOf(
  options: ProberOptions,
  index: number,
  seed: number,
  further: readonly string[] = [],
): Promise<CheckedCell> {
  const { source, candidates, overrides, version, targets } = options;
  const settings = candidates.settings(index);
  const [cell] = buildGrid(
    settings.map(({ key, value }) => ({ key, values: [value] })),
    [seed],
  );
  // No timelines, since nothing draws them.
  const own = [...cellOverrides({ ...cell!, repeats: true }, { cases: [], overrides }), ...further];
  const metrics = targets.map(({ metric }) => metric);
  return checkCell(source, own, { version, metrics }).catch((error: unknown) => {
    throw atItsPlace(error, placeAmong(settings));
  });
}

/** Error of a failed candidate. */
function failure(
  { candidates }: ProberOptions,
  { code, message }: { code: string; message: string },
  index: number,
): Error {
  if (code !== BUG) return new EscapementError(code as ErrorCode, message);
  return new Error(`${overridesOf(candidates, index).join(' ')}: ${message}`);
}

/** Runs candidates with all seeds and judges them. */
export class Prober {
  private readonly probes = new Map<number, Promise<Tried>>();

  constructor(
    private readonly options: ProberOptions,
    readonly means: Means,
  ) {}

  /** Runs and judges a candidate, once. Throws errors of the experiment. */
  judge(index: number): Promise<Tried> {
    const probe = this.probes.get(index) ?? this.assess(index);
    this.probes.set(index, probe);
    return probe;
  }

  /** Upper bounds for any scheduler, one per seed; empty if not known for all of them. */
  async bounds(index: number): Promise<BoundFigures[]> {
    const outcomes = await this.run(index, [], 'boundCell');
    const bounds = outcomes.flatMap((found) =>
      found.status === 'done' ? (found.result as BoundFigures) : [],
    );
    return bounds.length === outcomes.length ? bounds : [];
  }

  /** Candidates that were judged, in ascending order of index. */
  async tried(): Promise<(readonly [number, Tried])[]> {
    const asked = [...this.probes].sort(([left], [right]) => left - right);
    return Promise.all(asked.map(async ([index, probe]) => [index, await probe] as const));
  }

  /** Runs a job for each seed, and keeps results other than bounds. */
  private async run(
    index: number,
    further: readonly string[],
    job: CellJob,
  ): Promise<readonly (Found & { readonly key?: string })[]> {
    const { options, means } = this;
    try {
      const cells = await cellsOf(options, index, further);
      return await Promise.all(
        cells.map(async ({ task }) => {
          const found = await runUnit({ task, job }, job === 'runCell' ? means.store : null, means.runner);
          if (found.status === 'done' && job === 'runCell') options.onRun(found.reused);
          return { ...found, key: task.key };
        }),
      );
    } catch (error) {
      return [failedOutcome(error)];
    }
  }

  /** The worst of a candidate as it is and after each loss that it must survive. */
  private async assess(index: number): Promise<Tried> {
    const { options } = this;
    const whole = await this.assessWith(index, []);
    if (options.survives !== true || whole.meets !== 'yes') return whole;
    const { experiment } = await cellOf(options, index, options.seeds[0]!);
    const { durationSeconds } = whole.details!;
    const losses = lossesOf(experiment, durationSeconds);
    const lost = losses.map(async ({ name, overrides }) => ({
      ...(await this.assessWith(index, overrides)),
      lost: name,
    }));
    return worstOf([whole, ...(await Promise.all(lost))], options.targets);
  }

  private async assessWith(index: number, further: readonly string[]): Promise<Tried> {
    const { candidates, targets, isTolerant = false } = this.options;
    const named = {
      value: candidates.text(index),
      name: candidates.name(index),
      settings: overridesOf(candidates, index),
    };
    const outcomes = await this.run(index, further, 'runCell');
    const cells = outcomes.flatMap(({ key }) => key ?? []);
    const results: CellResult[] = [];
    for (const outcome of outcomes) {
      if (outcome.status === 'done') results.push(outcome.result as CellResult);
      else if (outcome.code !== REFUSED && !(isTolerant && outcome.code !== BUG))
        throw failure(this.options, outcome, index);
      else return { ...named, meets: 'no', figures: [], attainment: null, cells, refused: outcome.message };
    }
    const figures = targets.map((target) => judge(target, results));
    const unreachable = this.means.reach.beyondRates(results);
    const attainment = meanOfKnown(results.map(({ summary }) => summary.attainment));
    const cost = costOf(results.map(({ summary }) => summary));
    return {
      ...{ ...named, meets: worstVerdict(figures), figures, attainment },
      ...(cost === null ? {} : { costPerHour: cost.perHour, costPerMillion: cost.perMillionInTime }),
      ...{ details: detailsOf(results), cells },
      ...(isOneSample(results) ? { isOneSample: true } : {}),
      ...overRate(results),
      ...(unreachable === null ? {} : { unreachable }),
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
      return { name, offered, attainment: ok / offered, failed: offered - ok, causes: causesOf(own) };
    })
    .filter(({ offered }) => offered >= FEWEST_REQUESTS * results.length)
    .sort((a, b) => a.attainment - b.attainment)
    .slice(0, MOST_MODELS);
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
