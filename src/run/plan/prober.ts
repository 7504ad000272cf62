import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { type ErrorCode, EscapementError } from '../../base/errors.js';
import { makeFolder } from '../../base/files/make-folder.js';
import { cannotWrite } from '../../base/files/output-file.js';
import type { SourceDocument } from '../../config/document.js';
import type { Experiment } from '../../config/experiment.js';
import type { BoundFigures, CellResult } from '../../record/results.js';
import type { Threshold } from '../../record/threshold.js';
import { isOneSample, meanOf, meanOfKnown } from '../../report/statistics.js';
import { seedChanges } from '../random-streams.js';
import { CellStore } from '../sweep/cell-store.js';
import { buildGrid, cellOverrides } from '../sweep/grid.js';
import { type CheckedCell, checkCell } from '../sweep/plan.js';
import type { CellRunner } from '../sweep/pool.js';
import { BUG, failedOutcome } from '../sweep/run-cell.js';
import { runUnit } from '../sweep/units.js';
import { judge } from './judge.js';
import type { Candidates } from './over.js';
import type { Tried } from './plan-result.js';
import { overRate, type Reach } from './reach.js';

interface TrialOptions {
  readonly source: SourceDocument;
  /** `--set` overrides, for every candidate. */
  readonly overrides: readonly string[];
  readonly candidates: Candidates;
  readonly seeds: readonly number[];
  readonly targets: readonly Threshold[];
  /** Version of the program: results of another version are not reused. */
  readonly version: string;
  /** Called for each finished run; `reused`: its result came from an earlier plan. */
  readonly onRun: (reused: boolean) => void;
}

interface Means {
  readonly reach: Reach;
  readonly runner: CellRunner;
  /** Storage of finished runs; null: not kept. */
  readonly store: CellStore | null;
}

/** A candidate whose cluster cannot hold a model misses its target; any other failure ends the plan. */
const REFUSED: ErrorCode = 'E_MODEL_TOO_LARGE';

/** Runs of the candidates, checked before any of them starts. */
export class Trials {
  constructor(private readonly options: TrialOptions) {}

  /** Prober that runs them. */
  proberWith(means: Means): Prober {
    return new Prober(this, this.options, means);
  }

  /** Experiments at the ends of the range that can hold the models, at least one. Throws errors of the experiment. */
  async ends(): Promise<readonly Experiment[]> {
    const { candidates, seeds } = this.options;
    const ends: Experiment[] = [];
    for (const index of candidates.ends) {
      try {
        ends.push((await this.cellOf(index, seeds[0]!)).experiment);
      } catch (error) {
        const failed = failedOutcome(error);
        // If no end can hold the models, there is nothing to plan.
        const isLast = index === candidates.ends.at(-1);
        if (failed.code !== REFUSED || (isLast && ends.length === 0)) throw this.failure(failed, index);
      }
    }
    return ends;
  }

  /** Runs of a candidate: one per seed, or only one if no seed changes it. */
  async cellsOf(index: number): Promise<readonly CheckedCell[]> {
    const [first, ...others] = this.options.seeds as [number, ...number[]];
    const one = await this.cellOf(index, first);
    const rest = seedChanges(one.experiment) ? others : [];
    return [one, ...(await Promise.all(rest.map((seed) => this.cellOf(index, seed))))];
  }

  private cellOf(index: number, seed: number): Promise<CheckedCell> {
    const { source, candidates, overrides, version, targets } = this.options;
    const settings = candidates.settings(index).map(({ key, value }) => ({ key, values: [value] }));
    const [cell] = buildGrid(settings, [seed]);
    // No timelines, since nothing draws them.
    const own = cellOverrides({ ...cell!, repeats: true }, { cases: [], overrides });
    return checkCell(source, own, { version, metrics: targets.map(({ metric }) => metric) });
  }

  /** Error of a failed candidate. Values are overrides for the loader; messages name the planned keys. */
  failure({ code, message }: { code: string; message: string }, index: number): Error {
    const { candidates } = this.options;
    const settings = candidates.settings(index).map(({ key, value }) => ({ key, text: `${key}=${value}` }));
    if (code === BUG) return new Error(`${settings.map(({ text }) => text).join(' ')}: ${message}`);
    const named = settings.reduce((whole, { key, text }) => {
      // If the key is wrong, the tried value is irrelevant.
      const flag = code === 'E_CONFIG_KEY' ? candidates.written(key) : text;
      return whole.replace(`--set ${text}`, () => `--over ${flag}`);
    }, message);
    return new EscapementError(code as ErrorCode, named);
  }
}

/** Runs candidates with all seeds and judges them. */
export class Prober {
  readonly reach: Reach;
  private readonly probes = new Map<number, Promise<Tried>>();

  constructor(
    private readonly trials: Trials,
    private readonly options: TrialOptions,
    private readonly means: Means,
  ) {
    this.reach = means.reach;
  }

  /** Runs and judges a candidate, once. Throws errors of the experiment. */
  judge(index: number): Promise<Tried> {
    const probe = this.probes.get(index) ?? this.assess(index);
    this.probes.set(index, probe);
    return probe;
  }

  /** Upper bounds for any scheduler, one per seed; empty if not known for all of them. */
  async bounds(index: number): Promise<BoundFigures[]> {
    const { runner } = this.means;
    const outcomes = await this.trials
      .cellsOf(index)
      .then((cells) =>
        Promise.all(cells.map(({ task }) => runUnit({ task, job: 'boundCell' }, null, runner))),
      )
      .catch(() => []);
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

  private async assess(index: number): Promise<Tried> {
    const { candidates, targets, onRun } = this.options;
    const { runner, store, reach } = this.means;
    const value = candidates.text(index);
    const outcomes = await this.trials
      .cellsOf(index)
      .then((cells) =>
        Promise.all(
          cells.map(async ({ task }) => {
            const found = await runUnit({ task, job: 'runCell' }, store, runner);
            if (found.status === 'done') onRun(found.reused);
            return found;
          }),
        ),
      )
      .catch((error: unknown) => [failedOutcome(error)]);
    const results: CellResult[] = [];
    for (const outcome of outcomes) {
      if (outcome.status === 'done') results.push(outcome.result as CellResult);
      else if (outcome.code !== REFUSED) throw this.trials.failure(outcome, index);
      else return { value, meets: 'no', figures: [], attainment: null, refused: outcome.message };
    }
    const figures = targets.map((target) => judge(target, results));
    const verdicts = figures.map(({ meets }) => meets);
    const meets = verdicts.includes('no') ? 'no' : verdicts.includes('unsure') ? 'unsure' : 'yes';
    const unreachable = reach.beyondRates(results);
    const attainment = meanOfKnown(results.map(({ summary }) => summary.attainment));
    return {
      ...{ value, meets, figures, attainment, ...costOf(results) },
      ...(isOneSample(results) ? { isOneSample: true } : {}),
      ...overRate(results),
      ...(unreachable === null ? {} : { unreachable }),
    };
  }
}

/** Files of a plan besides its runs. */
const RESULTS = ['plan.json', 'plan.html'];

/**
 * Storage of a plan's runs; null without a folder, which must not look finished before the end. Throws `E_FILE_WRITE`.
 */
export function openPlanStore(outDir: string | undefined, reuse: boolean): CellStore | null {
  if (outDir === undefined) return null;
  try {
    makeFolder(outDir);
    for (const name of RESULTS) rmSync(join(outDir, name), { force: true });
  } catch (error) {
    throw cannotWrite(outDir, error);
  }
  return new CellStore(outDir, reuse);
}

/** Cost on clusters whose GPUs have prices. */
function costOf(results: readonly CellResult[]): Pick<Tried, 'costPerMillion'> {
  const costs = results.flatMap(({ summary }) => summary.cost ?? []);
  if (costs.length < results.length) return {};
  const perMillion = costs.flatMap(({ perMillionInTime }) => perMillionInTime ?? []);
  return { costPerMillion: perMillion.length < costs.length ? null : meanOf(perMillion) };
}
