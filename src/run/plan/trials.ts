import { type ErrorCode, EscapementError } from '../../base/errors.js';
import type { Experiment } from '../../config/experiment.js';
import type { ExperimentHost } from '../../config/experiment-host.js';
import { parseExperiment } from '../../config/load.js';
import { buildGrid, cellOverrides, type GridCell } from '../sweep/grid.js';
import { BUG, failedOutcome } from '../sweep/run-cell.js';
import { type Lattice, type Over, written } from './over.js';

interface TrialOptions {
  /** The experiment and its path. */
  readonly text: string;
  readonly file: string;
  /** `--set` overrides, for every value. */
  readonly overrides: readonly string[];
  /** What is planned, and its values. */
  readonly over: Over;
  readonly lattice: Lattice;
  readonly seeds: readonly number[];
}

/** A value whose cluster cannot hold a model misses its target; any other failure ends the plan. */
export const REFUSED: ErrorCode = 'E_MODEL_TOO_LARGE';

/** What there is to run: the experiment at each value of the planned key, with each seed. */
export class Trials {
  private readonly cells = new Map<number, readonly GridCell[]>();

  constructor(readonly options: TrialOptions) {}

  /** The runs of a value, one a seed; always the same objects. */
  cellsOf(index: number): readonly GridCell[] {
    let cells = this.cells.get(index);
    if (cells === undefined) {
      const { over, lattice, seeds } = this.options;
      const grid = buildGrid([{ key: over.key, values: [lattice.text(index)] }], seeds);
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
    for (const index of [0, this.options.lattice.size - 1]) {
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
    const { over, lattice } = this.options;
    const { key } = over;
    if (code === BUG) return new Error(`${key}=${lattice.text(index)}: ${message}`);
    const override = `--set ${key}=${lattice.text(index)}`;
    // Where the key is wrong, the value that was tried says nothing.
    const flag = code === 'E_CONFIG_KEY' ? written(over) : `${key}=${lattice.text(index)}`;
    return new EscapementError(
      code as ErrorCode,
      message.replace(override, () => `--over ${flag}`),
    );
  }
}
