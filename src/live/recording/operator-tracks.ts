import { NS_PER_US } from '../../base/units.js';
import {
  GAP_NS,
  operatorTrack,
  slice,
  type TimelineEvent,
  type Track,
  trackNames,
} from '../../record/timeline-events.js';
import type { OperatorRun } from '../operator-runs.js';

/** Resolution of onnxruntime's times, µs: smaller overlaps are ignored. */
const ROUNDING_NS = NS_PER_US;

/**
 * Places operators below their INFERs. Sequential ones are children of the slice that they are part of; if a model's
 * branches run in parallel, the others get tracks of their own.
 */
export class OperatorTracks {
  /** Largest shift of an operator to fit into its INFER: a measure of how well the clocks agree. */
  mostMovedNs = 0;
  /** By GPU and further track: end of the last operator there. */
  private readonly endsNs: number[][] = [];

  /** `parent` is on `track`; the operators may be in any order, and are sorted. */
  *place(
    gpu: number,
    track: Track,
    parent: { readonly beginNs: number; readonly endNs: number },
    operators: OperatorRun[],
  ): Generator<TimelineEvent> {
    operators.sort((a, b) => a.beginNs - b.beginNs);
    let freeNs = parent.beginNs;
    const lastNs = Math.max(parent.beginNs, parent.endNs - GAP_NS);
    for (const operator of operators) {
      const beginNs = Math.min(Math.max(operator.beginNs, parent.beginNs), lastNs);
      const endNs = Math.max(beginNs, Math.min(operator.endNs, lastNs));
      const movedNs = Math.max(Math.abs(beginNs - operator.beginNs), operator.endNs - endNs);
      this.mostMovedNs = Math.max(this.mostMovedNs, movedNs);
      if (beginNs + ROUNDING_NS < freeNs) {
        yield* this.placeInParallel(gpu, operator, beginNs, endNs);
      } else {
        const placedNs = Math.min(Math.max(beginNs, freeNs), lastNs);
        yield operatorSlice(track, operator, placedNs, Math.max(placedNs, endNs));
        freeNs = Math.max(placedNs, endNs) + GAP_NS;
      }
    }
  }

  private *placeInParallel(
    gpu: number,
    operator: OperatorRun,
    beginNs: number,
    endNs: number,
  ): Generator<TimelineEvent> {
    this.endsNs[gpu] ??= [];
    const ends = this.endsNs[gpu];
    const free = ends.findIndex((lastNs) => lastNs <= beginNs);
    const index = free < 0 ? ends.length : free;
    const track = operatorTrack(gpu, index);
    if (free < 0) yield* trackNames(track, `operators ${index + 2}`, index + 2);
    ends[index] = endNs + GAP_NS;
    yield operatorSlice(track, operator, beginNs, endNs);
  }
}

function operatorSlice(track: Track, run: OperatorRun, beginNs: number, endNs: number): TimelineEvent {
  const { name, operator, provider } = run;
  return slice(track, name, 'operator', beginNs, endNs, { operator, provider });
}
