import { NS_PER_S } from '../../../base/units.js';
import { type Outcome, REQUEST_FREE, type RequestTable } from '../../../core/request.js';
import { ratioOf } from '../../../record/counted.js';
import type { PartOf } from '../../../record/dimensions.js';
import { PartTally } from '../../../record/part-tally.js';
import { type StatusCollector, SUMMED, WINDOW_SECONDS } from './status-collector.js';

/** Parts with a row of their own; all others share the last row. */
export const MOST_PARTS = 200;
/** Latencies are within 1.6 %, so that many parts take little memory. */
const BITS = 5;

/** Window of a status, up to now; shorter than usual if there were more answers than are kept. */
export class Window {
  readonly fromNs: number;
  readonly seconds: number;

  constructor(
    readonly collector: StatusCollector,
    private readonly requests: RequestTable,
    readonly nowNs: number,
  ) {
    this.fromNs = Math.max(0, nowNs - WINDOW_SECONDS * NS_PER_S, collector.answers.sinceNs);
    this.seconds = (nowNs - this.fromNs) / NS_PER_S;
  }

  /** Requests that arrived in it, answered or not, by part; those of steps only with `bySteps`. */
  arrivals(parts: number, partOf: PartOf, bySteps: boolean): Float64Array {
    const { fromNs, requests } = this;
    const { answers } = this.collector;
    const { arrivalNs: cameNs, step: steps, gpu } = answers.columns;
    const arrived = new Float64Array(parts);
    const count = (part: number) => {
      if (part >= 0) arrived[part]++;
    };
    answers.each(fromNs, (at) => {
      if (cameNs[at] >= fromNs && (bySteps || steps[at] <= 0)) count(partOf(answers.columns, at, gpu[at]));
    });
    const { state, arrivalNs, step } = requests;
    for (let slot = 0; slot < state.length; slot++)
      if (state[slot] !== REQUEST_FREE && arrivalNs[slot] >= fromNs && (bySteps || step[slot] <= 0))
        count(partOf(requests, slot, -1));
    return arrived;
  }
}

type Summed = (typeof SUMMED)[number];

/** Requests of a window by one dimension. */
export class Breakdown {
  /** Parts of each row: one, except in a last row for all that have none of their own. */
  private readonly rows: readonly (readonly number[])[];
  private readonly tally: PartTally;
  /** By row: requests that arrived. */
  private readonly arrived: Float64Array;
  /** By quantity and row. */
  private readonly sums: Readonly<Record<Summed, Float64Array>>;

  /**
   * `parts`: their number; `bySteps`: true if requests of pipeline steps count, instead of their GPU time alone; `order`:
   * those to list, by the number of requests that arrived.
   */
  constructor(
    private readonly window: Window,
    parts: number,
    partOf: PartOf,
    bySteps: boolean,
    order: (arrived: Float64Array) => readonly number[] = (arrived) => [...arrived.keys()],
  ) {
    const arrived = window.arrivals(parts, partOf, bySteps);
    const listed = order(arrived);
    const others = listed.slice(MOST_PARTS);
    this.rows = [
      ...listed.slice(0, MOST_PARTS).map((part) => [part]),
      ...(others.length > 0 ? [others] : []),
    ];
    const rowOf = new Int32Array(parts).fill(-1);
    for (const [row, of] of this.rows.entries()) for (const part of of) rowOf[part] = row;
    this.arrived = Float64Array.from(this.rows, (of) => of.reduce((sum, part) => sum + arrived[part], 0));
    this.tally = new PartTally(this.rows.length, BITS);
    const zeros = () => new Float64Array(this.rows.length);
    this.sums = Object.fromEntries(SUMMED.map((quantity) => [quantity, zeros()])) as typeof this.sums;
    const answers = window.collector.answers.columns;
    window.collector.answers.each(window.fromNs, (at) => {
      const row = rowOf[partOf(answers, at, answers.gpu[at])] ?? -1;
      if (row < 0) return;
      const latencyNs = Math.max(0, answers.answeredNs[at] - answers.arrivalNs[at]);
      const isCold = answers.arrivalCopies[at] === 0;
      if (bySteps || answers.step[at] <= 0)
        this.tally.add(
          row,
          answers.outcome[at] as Outcome,
          latencyNs,
          answers.cause[at],
          isCold,
          answers.accuracy[at],
        );
      for (const quantity of SUMMED) this.sums[quantity][row] += answers[quantity][at];
    });
  }

  /** Figures of a row, as in a run's summary. */
  figures(row: number) {
    const { fromNs, nowNs, seconds } = this.window;
    const span = { warmupNs: fromNs, durationNs: nowNs };
    const { requests, ...figures } = this.tally.figures(row, span, true);
    const offered = this.arrived[row];
    return { ...figures, requests: { ...requests, offered }, offeredRps: ratioOf(offered, seconds) };
  }

  /** Every row with its figures. `describe`: further fields of its parts, such as their name. */
  list<T extends { readonly key: string }>(
    describe: (parts: readonly number[], sums: Readonly<Record<Summed | 'executed', number>>) => T,
  ) {
    const gpuNs = this.sums.gpuNs.reduce((sum, ns) => sum + ns, 0);
    return this.rows.map((parts, row) => {
      const figures = this.figures(row);
      const executed = figures.requests.ok + figures.requests.late;
      const sums = Object.fromEntries(SUMMED.map((quantity) => [quantity, this.sums[quantity][row]]));
      return {
        ...describe(parts, { ...(sums as Record<Summed, number>), executed }),
        ...(row < MOST_PARTS ? {} : { key: 'others', others: parts.length }),
        ...figures,
        gpuShare: ratioOf(sums.gpuNs, gpuNs),
      };
    });
  }
}
