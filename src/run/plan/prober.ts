import { NotedFiles } from '../../config/files-on-disk.js';
import type { BoundFigures, CellResult } from '../../record/results.js';
import { percentilesFor, type Threshold } from '../../record/threshold.js';
import { isOneSample, meanOf } from '../../report/statistics.js';
import { seedChanges } from '../random-streams.js';
import { cellKey } from '../sweep/cell-key.js';
import type { CellStore } from '../sweep/cell-store.js';
import type { GridCell } from '../sweep/grid.js';
import type { CellRunner } from '../sweep/pool.js';
import { type CellOutcome, type CellTask, failedOutcome, labelsOf } from '../sweep/run-cell.js';
import { judge } from './judge.js';
import type { Tried } from './plan-result.js';
import type { Reach } from './reach.js';
import { REFUSED, type Trials } from './trials.js';

interface ProberOptions {
  readonly trials: Trials;
  readonly targets: readonly Threshold[];
  readonly reach: Reach;
  /** Version of the program: results of another version are not reused. */
  readonly version: string;
  readonly runner: CellRunner;
  /** Where finished runs are kept; null: nowhere. */
  readonly store: CellStore | null;
  /** Called for each run that has finished; `reused`: its result was there from an earlier plan. */
  readonly onRun: (reused: boolean) => void;
}

/** Runs candidates with all seeds and judges them. */
export class Prober {
  private readonly probes = new Map<number, Promise<Tried>>();

  constructor(private readonly options: ProberOptions) {}

  /** Throws what is wrong with the experiment at this value. */
  judge(index: number): Promise<Tried> {
    let probe = this.probes.get(index);
    if (probe === undefined) {
      probe = this.assess(index);
      this.probes.set(index, probe);
    }
    return probe;
  }

  /** What no scheduler could exceed, for each seed; empty if that is not known for all of them. */
  async bounds(index: number): Promise<BoundFigures[]> {
    const outcomes = await this.tasksOf(index)
      .then((tasks) => Promise.all(tasks.map(({ task }) => this.options.runner.run(task, 'boundCell'))))
      .catch(() => []);
    const bounds = outcomes.flatMap((outcome) => (outcome.status === 'done' ? JSON.parse(outcome.json) : []));
    return bounds.length === outcomes.length ? bounds : [];
  }

  /** The values that were asked for, ascending. */
  async tried(): Promise<Tried[]> {
    const asked = [...this.probes].sort(([left], [right]) => left - right);
    return Promise.all(asked.map(([, probe]) => probe));
  }

  private async assess(index: number): Promise<Tried> {
    const { trials, targets, reach } = this.options;
    const value = trials.options.candidates.text(index);
    const outcomes = await this.tasksOf(index)
      .then((tasks) => Promise.all(tasks.map(({ task }) => this.outcomeOf(task))))
      .catch((error: unknown) => [failedOutcome(error)]);
    const results: CellResult[] = [];
    for (const outcome of outcomes) {
      if (outcome.status === 'done') results.push(JSON.parse(outcome.json));
      else if (outcome.code !== REFUSED) throw trials.failure(outcome, index);
      else return { value, meets: 'no', figures: [], attainment: null, refused: outcome.message };
    }
    const figures = targets.map((target) => judge(target, results));
    const verdicts = figures.map(({ meets }) => meets);
    const meets = verdicts.includes('no') ? 'no' : verdicts.includes('unsure') ? 'unsure' : 'yes';
    const attained = results.flatMap(({ summary }) => summary.attainment ?? []);
    const unreachable = reach.beyondRates(results);
    const attainment = attained.length === 0 ? null : meanOf(attained);
    return {
      ...{ value, meets, figures, attainment, ...costOf(results) },
      ...(isOneSample(results) ? { isOneSample: true } : {}),
      ...(unreachable === null ? {} : { unreachable }),
    };
  }

  private async outcomeOf(task: CellTask): Promise<CellOutcome> {
    const { runner, store, onRun } = this.options;
    const stored = store?.read(task) ?? null;
    if (stored !== null) {
      onRun(true);
      return { status: 'done', json: JSON.stringify(stored) };
    }
    const outcome = await runner.run(task);
    if (outcome.status === 'done') {
      store?.write(task, outcome.json);
      onRun(false);
    }
    return outcome;
  }

  /** The runs of a value: one per seed, or only one if no seed changes it. */
  private async tasksOf(index: number): Promise<readonly PlannedTask[]> {
    const [first, ...others] = this.options.trials.cellsOf(index) as [GridCell];
    const one = await this.taskOf(first);
    const rest = one.seedChanges ? others : [];
    return [one, ...(await Promise.all(rest.map((cell) => this.taskOf(cell))))];
  }

  private async taskOf(cell: GridCell): Promise<PlannedTask> {
    const { trials, version, targets } = this.options;
    const { text, file } = trials.options;
    const percentiles = percentilesFor(targets);
    const noted = new NotedFiles();
    const experiment = await trials.experimentOf(cell, noted);
    const { files } = noted;
    const key = cellKey(experiment, version, percentiles);
    const overrides = trials.overridesOf(cell);
    const task = { text, file, files, overrides, percentiles, key, ...labelsOf(experiment) };
    return { task, seedChanges: seedChanges(experiment) };
  }
}

interface PlannedTask {
  readonly task: CellTask;
  /** Whether other seeds give other runs. */
  readonly seedChanges: boolean;
}

/** Of clusters whose GPUs have prices. */
function costOf(results: readonly CellResult[]): Pick<Tried, 'costPerMillion'> {
  const costs = results.flatMap(({ summary }) => summary.cost ?? []);
  if (costs.length < results.length) return {};
  const perMillion = costs.flatMap(({ perMillionInTime }) => perMillionInTime ?? []);
  return { costPerMillion: perMillion.length < costs.length ? null : meanOf(perMillion) };
}
