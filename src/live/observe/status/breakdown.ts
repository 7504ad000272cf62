import { NS_PER_S } from '../../../base/units.js';
import { type Outcome, REQUEST_FREE, type RequestTable } from '../../../core/request.js';
import { ratioOf } from '../../../record/counted.js';
import { PartTally } from '../../../record/part-tally.js';
import { requestFigures } from '../../../record/parts.js';
import {
  ANSWER,
  ANSWER_COLUMNS,
  RecentRows,
  type StatusCollector,
  WINDOW_SECONDS,
} from './status-collector.js';

/** Parts with a row of their own; all others share the last row. */
export const MOST_PARTS = 200;
/** Latencies are within 1.6 %, so that many parts take little memory. */
const BITS = 5;

/** Past of which a status tells: up to now, and shorter than usual if more was answered than is kept. */
export class Window {
  readonly fromNs: number;
  readonly seconds: number;
  /** Requests without an answer that arrived in it, as rows of `ANSWER`. */
  readonly waiting: RecentRows;

  constructor(
    readonly collector: StatusCollector,
    requests: RequestTable,
    readonly nowNs: number,
  ) {
    this.fromNs = Math.max(0, nowNs - WINDOW_SECONDS * NS_PER_S, collector.answers.sinceNs);
    this.seconds = (nowNs - this.fromNs) / NS_PER_S;
    this.waiting = new RecentRows(ANSWER_COLUMNS, Math.max(1, requests.size));
    const { state, arrivalNs } = requests;
    for (let slot = 0; slot < state.length; slot++)
      if (state[slot] !== REQUEST_FREE && arrivalNs[slot] >= this.fromNs)
        collector.describe(requests, slot, this.waiting.values, this.waiting.add(nowNs));
  }
}

/** Quantities of executed requests that are summed. */
const SUMMED = ['gpuNs', 'infers', 'queueNs', 'copyInNs', 'execNs', 'copyOutNs'] as const;
type Summed = (typeof SUMMED)[number];

/** Part to which a row of `ANSWER` belongs; −1: none. */
type PartOf = (values: Float64Array, at: number) => number;

/** Requests of a window by one dimension. */
export class Breakdown {
  /** Parts of each row: one, except in a last row for all that have none of their own. */
  private readonly rows: readonly (readonly number[])[];
  private readonly tally: PartTally;
  /** By row: requests that arrived. */
  private readonly arrived: Float64Array;
  /** By quantity and row. */
  private readonly sums: Readonly<Record<Summed, Float64Array>>;

  /** `parts`: their number; `order`: those to list, by the number of requests that arrived. */
  constructor(
    private readonly window: Window,
    parts: number,
    partOf: PartOf,
    order: (arrived: Float64Array) => readonly number[] = (arrived) => [...arrived.keys()],
  ) {
    const arrived = arrivals(window, parts, partOf);
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
    const { values } = window.collector.answers;
    window.collector.answers.each(window.fromNs, (at) => {
      const part = partOf(values, at);
      if (part >= 0 && rowOf[part] >= 0) this.add(rowOf[part], values, at);
    });
  }

  private add(row: number, values: Float64Array, at: number): void {
    const latencyNs = Math.max(0, values[at + ANSWER.answeredNs] - values[at + ANSWER.arrivalNs]);
    const outcome = values[at + ANSWER.outcome] as Outcome;
    this.tally.add(row, outcome, latencyNs, values[at + ANSWER.cause], values[at + ANSWER.isCold] === 1);
    for (const quantity of SUMMED) this.sums[quantity][row] += values[at + ANSWER[quantity]];
  }

  /** Figures of a row, those of a run's summary. */
  figures(row: number) {
    const { fromNs, nowNs, seconds, collector } = this.window;
    const span = { warmupNs: fromNs, durationNs: nowNs, causes: collector.causes };
    const { requests, ...figures } = requestFigures(span, this.tally, row);
    const offered = this.arrived[row];
    return { ...figures, requests: { ...requests, offered }, offeredRps: ratioOf(offered, seconds) };
  }

  /** Every row with its figures. `describe`: what else there is to tell of its parts, their name above all. */
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

/** Requests that arrived in the window, by part. */
function arrivals({ collector, fromNs, waiting }: Window, parts: number, partOf: PartOf): Float64Array {
  const arrived = new Float64Array(parts);
  for (const rows of [collector.answers, waiting]) {
    const { values } = rows;
    rows.each(fromNs, (at) => {
      const part = values[at + ANSWER.arrivalNs] < fromNs ? -1 : partOf(values, at);
      if (part >= 0) arrived[part]++;
    });
  }
  return arrived;
}
