import type { Random } from '../../base/random/streams.js';
import type { AliasTable } from '../alias-table.js';
import type { Frame } from '../frame.js';
import { popularityTable } from '../popularity.js';
import { BaseSource } from '../source.js';
import type { Popularity } from '../spec.js';

/**
 * Arrivals that do not wait for answers, each for a model drawn by popularity. A subclass says when
 * the next one comes. The clock keeps fractions of a ns, so that rounding does not bend the rate.
 */
export abstract class OpenLoopSource extends BaseSource {
  protected clockNs: number;
  protected readonly startNs: number;
  private readonly endNs: number;
  private readonly models: Int32Array;
  private readonly popularity: AliasTable;
  private readonly picks: Random;

  constructor(popularity: Popularity, frame: Frame) {
    super(frame.sloNs);
    this.clockNs = frame.startNs;
    this.startNs = frame.startNs;
    this.endNs = frame.endNs;
    this.models = frame.models;
    this.popularity = popularityTable(popularity, frame.models.length);
    this.picks = frame.random('models');
  }

  /** Moves `clockNs` to the next arrival; anything that is not before the end (or NaN) ends the stream. */
  protected abstract step(): void;

  override advance(): void {
    this.step();
    if (!(this.clockNs < this.endNs)) {
      this.timeNs = Number.POSITIVE_INFINITY;
      return;
    }
    this.timeNs = Math.floor(this.clockNs);
    this.model = this.models[this.popularity.pick(this.picks())];
  }
}
