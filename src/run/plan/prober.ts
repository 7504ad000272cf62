import { NotedFiles } from '../../config/files-on-disk.js';
import type { BoundFigures, CellResult } from '../../record/results.js';
import { percentilesFor, type Threshold } from '../../record/threshold.js';
import { meanOf } from '../../report/statistics.js';
import { cellKeys } from '../sweep/cell-key.js';
import type { CellStore } from '../sweep/cell-store.js';
import type { GridCell } from '../sweep/grid.js';
import type { CellRunner } from '../sweep/pool.js';
import { type CellOutcome, type CellTask, failedOutcome, labelsOf } from '../sweep/run-cell.js';
import { judge, type Verdict } from './judge.js';
import type { Tried } from './plan-result.js';
import type { SearchPort } from './search.js';
import { REFUSED, type Trials } from './trials.js';

interface ProberOptions {
  readonly trials: Trials;
  readonly targets: readonly Threshold[];
  /** Version of the program: results of another version are not reused. */
  readonly version: string;
  readonly runner: CellRunner;
  /** Where finished runs are kept; null: nowhere. */
  readonly store: CellStore | null;
  /** Called for each run that has finished; `reused`: its result was there from an earlier plan. */
  readonly onRun: (reused: boolean) => void;
}

/**
 * Runs values of the planned key with all seeds and judges them. Threads that would be idle run values that the
 * search may ask for next; those that it never asks for are in no result.
 */
export class Prober implements SearchPort {
  private readonly runs = new Map<GridCell, Promise<CellOutcome>>();
  private readonly probes = new Map<number, Promise<Tried>>();
  private upcoming: readonly number[] = [];
  private running = 0;

  constructor(private readonly options: ProberOptions) {}

  /** Throws what is wrong with the experiment at this value. */
  async meets(index: number): Promise<boolean> {
    let probe = this.probes.get(index);
    if (probe === undefined) {
      probe = this.assess(index);
      this.probes.set(index, probe);
    }
    return (await probe).meets === 'yes';
  }

  ahead(indices: readonly number[]): void {
    this.upcoming = indices;
    this.fill();
  }

  /** How it was judged; it must have been asked for. */
  async verdict(index: number): Promise<Verdict> {
    return (await this.probes.get(index))!.meets;
  }

  /** With each seed, what no scheduler could exceed, as far as that can be said; the experiment must allow for bounds. */
  async bounds(index: number): Promise<BoundFigures[]> {
    const { trials, runner } = this.options;
    const outcomes = await Promise.all(
      trials.cellsOf(index).map(async (cell) => runner.run((await this.taskOf(cell)).task, 'boundCell')),
    );
    return outcomes.flatMap((outcome) => (outcome.status === 'done' ? JSON.parse(outcome.json) : []));
  }

  /** The values that were asked for, ascending. */
  async tried(): Promise<Tried[]> {
    const asked = [...this.probes].sort(([left], [right]) => left - right);
    return Promise.all(asked.map(([, probe]) => probe));
  }

  private async assess(index: number): Promise<Tried> {
    const { trials, targets } = this.options;
    const value = trials.options.candidates.text(index);
    const outcomes = await Promise.all(trials.cellsOf(index).map((cell) => this.run(cell)));
    const results: CellResult[] = [];
    for (const outcome of outcomes) {
      if (outcome.status === 'done') results.push(JSON.parse(outcome.json));
      else if (outcome.code !== REFUSED) throw trials.failure(outcome, index);
      else return { value, meets: 'no', figures: [], attainment: null, refused: outcome.message };
    }
    const figures = targets.map((target) => judge(target, results));
    const verdicts = figures.map(({ meets }) => meets);
    const meets = verdicts.includes('no') ? 'no' : verdicts.includes('unsure') ? 'unsure' : 'yes';
    const offered = results.filter(({ summary }) => summary.requests.offered > 0);
    const attainment = offered.length === 0 ? null : meanOf(offered.map(({ summary }) => summary.attainment));
    return { value, meets, figures, attainment, ...costOf(results) };
  }

  private run(cell: GridCell): Promise<CellOutcome> {
    let run = this.runs.get(cell);
    if (run === undefined) {
      this.running++;
      run = this.outcomeOf(cell).finally(() => {
        this.running--;
        this.fill();
      });
      this.runs.set(cell, run);
    }
    return run;
  }

  private fill(): void {
    for (const index of this.upcoming) {
      for (const cell of this.options.trials.cellsOf(index)) {
        if (this.running >= this.options.runner.capacity) return;
        void this.run(cell);
      }
    }
  }

  /** Failures are outcomes: this run may never be awaited. */
  private async outcomeOf(cell: GridCell): Promise<CellOutcome> {
    const { runner, store, onRun } = this.options;
    try {
      const { task, key } = await this.taskOf(cell);
      const stored = store?.read(task) ?? null;
      if (stored !== null) {
        onRun(true);
        return { status: 'done', json: JSON.stringify(stored) };
      }
      const outcome = await runner.run(task);
      if (outcome.status === 'done') {
        store?.write(key, outcome.json);
        onRun(false);
      }
      return outcome;
    } catch (error) {
      return failedOutcome(error);
    }
  }

  private async taskOf(cell: GridCell): Promise<{ readonly task: CellTask; readonly key: string }> {
    const { trials, version, targets } = this.options;
    const { text, file } = trials.options;
    const percentiles = percentilesFor(targets);
    const noted = new NotedFiles();
    const experiment = await trials.experimentOf(cell, noted);
    const { files } = noted;
    const keys = cellKeys(experiment, version, percentiles);
    const overrides = trials.overridesOf(cell);
    const task = { text, file, files, overrides, percentiles, ...keys, ...labelsOf(experiment) };
    return { task, key: keys.key };
  }
}

/** Of clusters whose GPUs have prices. */
function costOf(results: readonly CellResult[]): Pick<Tried, 'costPerMillion'> {
  const costs = results.flatMap(({ summary }) => summary.cost ?? []);
  if (costs.length < results.length) return {};
  const perMillion = costs.flatMap(({ perMillionInTime }) => perMillionInTime ?? []);
  return { costPerMillion: perMillion.length < costs.length ? null : meanOf(perMillion) };
}
