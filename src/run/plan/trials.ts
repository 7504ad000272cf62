import { type ErrorCode, EscapementError } from '../../base/errors.js';
import type { Experiment } from '../../config/experiment.js';
import type { ExperimentHost } from '../../config/experiment-host.js';
import { parseExperiment } from '../../config/load.js';
import { buildGrid, cellOverrides, type GridCell } from '../sweep/grid.js';
import { BUG, failedOutcome } from '../sweep/run-cell.js';
import type { Candidates } from './candidates.js';

interface TrialOptions {
  /** The experiment and its path. */
  readonly text: string;
  readonly file: string;
  /** `--set` overrides, for every value. */
  readonly overrides: readonly string[];
  /** What there is to choose from. */
  readonly candidates: Candidates;
  readonly seeds: readonly number[];
}

/** A value whose cluster cannot hold a model misses its target; any other failure ends the plan. */
export const REFUSED: ErrorCode = 'E_MODEL_TOO_LARGE';

/** What there is to run: the experiment at each value of the planned key, with each seed. */
export class Trials {
  private readonly cells = new Map<number, readonly GridCell[]>();

  constructor(readonly options: TrialOptions) {}

  /** What may be run of a value, one cell per seed; always the same objects. */
  cellsOf(index: number): readonly GridCell[] {
    let cells = this.cells.get(index);
    if (cells === undefined) {
      const { candidates, seeds } = this.options;
      const settings = candidates.settings(index).map(({ key, value }) => ({ key, values: [value] }));
      const grid = buildGrid(settings, seeds);
      // No timelines: nothing draws them.
      cells = grid.map((cell) => ({ ...cell, repeats: true }));
      this.cells.set(index, cells);
    }
    return cells;
  }

  overridesOf(cell: GridCell): string[] {
    return cellOverrides(cell, { cases: [], overrides: this.options.overrides });
  }

  experimentOf(cell: GridCell, host?: ExperimentHost): Promise<Experiment> {
    return parseExperiment(this.options.text, this.options.file, this.overridesOf(cell), [], host);
  }

  /** The experiment at those ends of the range that can hold the models, at least one. Throws what is wrong with it. */
  async ends(): Promise<readonly Experiment[]> {
    const ends: Experiment[] = [];
    for (const index of this.options.candidates.ends) {
      const [cell] = this.cellsOf(index) as [GridCell];
      try {
        ends.push(await this.experimentOf(cell));
      } catch (error) {
        const failed = failedOutcome(error) as { code: string; message: string };
        // Where neither end can hold the models, there is nothing to plan.
        if (failed.code !== REFUSED || (index > 0 && ends.length === 0)) throw this.failure(failed, index);
      }
    }
    return ends;
  }

  /** The error for a value that failed. Values are overrides for the loader; in messages they are what was planned. */
  failure({ code, message }: { code: string; message: string }, index: number): Error {
    const { candidates } = this.options;
    const settings = candidates.settings(index).map(({ key, value }) => ({ key, text: `${key}=${value}` }));
    if (code === BUG) return new Error(`${settings.map(({ text }) => text).join(' ')}: ${message}`);
    const named = settings.reduce((whole, { key, text }) => {
      // Where the key is wrong, the value that was tried says nothing.
      const flag = code === 'E_CONFIG_KEY' ? candidates.written(key) : text;
      return whole.replace(`--set ${text}`, () => `--over ${flag}`);
    }, message);
    return new EscapementError(code as ErrorCode, named);
  }
}
