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
import type { CellJob, CellRunner } from '../sweep/pool.js';
import { BUG, failedOutcome } from '../sweep/run-cell.js';
import { type Found, runUnit } from '../sweep/units.js';
import { judge } from './judge.js';
import type { Candidates } from './over.js';
import type { Tried } from './plan-result.js';
import { overRate, type Reach } from './reach.js';

interface ProberOptions {
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

/** Means of running candidates. */
interface Means {
  readonly reach: Reach;
  readonly runner: CellRunner;
  /** Storage of finished runs; null: not kept. */
  readonly store: CellStore | null;
}

/** A candidate whose cluster cannot hold a model misses its target; any other failure ends the plan. */
const REFUSED: ErrorCode = 'E_MODEL_TOO_LARGE';

/** Experiments at the ends of the range that can hold the models, at least one. Throws errors of the experiment. */
export async function endsOf(options: ProberOptions): Promise<readonly Experiment[]> {
  const { candidates, seeds } = options;
  const ends: Experiment[] = [];
  for (const index of candidates.ends) {
    try {
      ends.push((await cellOf(options, index, seeds[0]!)).experiment);
    } catch (error) {
      const failed = failedOutcome(error);
      // If no end can hold the models, there is nothing to plan.
      const isLast = index === candidates.ends.at(-1);
      if (failed.code !== REFUSED || (isLast && ends.length === 0)) throw failure(options, failed, index);
    }
  }
  return ends;
}

/** Runs of a candidate: one per seed, or only one if no seed changes it. */
async function cellsOf(options: ProberOptions, index: number): Promise<readonly CheckedCell[]> {
  const [first, ...others] = options.seeds as [number, ...number[]];
  const one = await cellOf(options, index, first);
  const rest = seedChanges(one.experiment) ? others : [];
  return [one, ...(await Promise.all(rest.map((seed) => cellOf(options, index, seed))))];
}

function cellOf(options: ProberOptions, index: number, seed: number): Promise<CheckedCell> {
  const { source, candidates, overrides, version, targets } = options;
  const settings = candidates.settings(index).map(({ key, value }) => ({ key, values: [value] }));
  const [cell] = buildGrid(settings, [seed]);
  // No timelines, since nothing draws them.
  const own = cellOverrides({ ...cell!, repeats: true }, { cases: [], overrides });
  return checkCell(source, own, { version, metrics: targets.map(({ metric }) => metric) });
}

/** Error of a failed candidate. Values are overrides for the loader; messages name the planned keys. */
function failure(
  { candidates }: ProberOptions,
  { code, message }: { code: string; message: string },
  index: number,
): Error {
  const settings = candidates.settings(index).map(({ key, value }) => ({ key, text: `${key}=${value}` }));
  if (code === BUG) return new Error(`${settings.map(({ text }) => text).join(' ')}: ${message}`);
  const named = settings.reduce((whole, { key, text }) => {
    // If the key is wrong, the tried value is irrelevant.
    const flag = code === 'E_CONFIG_KEY' ? candidates.written(key) : text;
    return whole.replace(`--set ${text}`, () => `--over ${flag}`);
  }, message);
  return new EscapementError(code as ErrorCode, named);
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
    const outcomes = await this.run(index, 'boundCell', null);
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

  /** Runs a job for each seed. */
  private async run(index: number, job: CellJob, store: CellStore | null): Promise<readonly Found[]> {
    const { options, means } = this;
    try {
      const cells = await cellsOf(options, index);
      return await Promise.all(
        cells.map(async ({ task }) => {
          const found = await runUnit({ task, job }, store, means.runner);
          if (found.status === 'done' && job === 'runCell') options.onRun(found.reused);
          return found;
        }),
      );
    } catch (error) {
      return [failedOutcome(error)];
    }
  }

  private async assess(index: number): Promise<Tried> {
    const { candidates, targets } = this.options;
    const { store, reach } = this.means;
    const value = candidates.text(index);
    const outcomes = await this.run(index, 'runCell', store);
    const results: CellResult[] = [];
    for (const outcome of outcomes) {
      if (outcome.status === 'done') results.push(outcome.result as CellResult);
      else if (outcome.code !== REFUSED) throw failure(this.options, outcome, index);
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
