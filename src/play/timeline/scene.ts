import { INFER, LOAD, STATUS_OK } from '../../core/action.js';
import { OUTCOME_NAMES } from '../../core/request.js';
import { statusName } from '../../core/status-names.js';
import { ACTION, ACTION_COLUMNS, REQUEST, REQUEST_COLUMNS } from '../../record/run-rows.js';

/** An action. Times in ns since the start of the run. */
export interface Box {
  /** Row of the timeline: two per GPU. */
  readonly row: number;
  readonly fromNs: number;
  readonly toNs: number;
  /** False if it is only planned. */
  readonly hasBegun: boolean;
  readonly model: number;
  /** Number of requests, and batch size; absent for a LOAD. */
  readonly count: number;
  readonly batchSize: number;
  readonly isInfer: boolean;
  readonly earliestNs: number;
  readonly latestNs: number;
  /** Deadline of its most urgent request. */
  readonly deadlineNs: number;
  /** Failure in words; empty: none so far. */
  readonly failure: string;
}

/** A request that was not answered in time. */
export interface Mark {
  readonly request: number;
  readonly model: number;
  readonly atNs: number;
  /** late, timeout, rejected or error. */
  readonly outcome: string;
}

/** Number of boxes kept for looking back. */
const MOST_BOXES = 20_000;
const MOST_MARKS = 20_000;

/** Contents of a timeline, from rows of actions and requests of any origin. */
export class Scene {
  private readonly boxes = new Map<number, Box>();
  /** In order of answers. */
  marks: Mark[] = [];
  /** By action: one of its requests, to ask for its story. */
  private readonly requestOf = new Map<number, number>();

  add(actions: Float64Array, requests: Float64Array): void {
    for (let at = 0; at < actions.length; at += ACTION_COLUMNS) this.addAction(actions, at);
    for (let at = 0; at < requests.length; at += REQUEST_COLUMNS) this.addRequest(requests, at);
    for (const id of this.boxes.keys()) {
      if (this.boxes.size <= MOST_BOXES) break;
      this.boxes.delete(id);
      this.requestOf.delete(id);
    }
    if (this.marks.length > MOST_MARKS) this.marks = this.marks.slice(-MOST_MARKS / 2);
  }

  clear(): void {
    this.boxes.clear();
    this.requestOf.clear();
    this.marks = [];
  }

  /** Boxes and marks between two moments. */
  within(fromNs: number, toNs: number): { readonly boxes: readonly Box[]; readonly marks: readonly Mark[] } {
    return {
      boxes: [...this.boxes.values()].filter((box) => box.toNs >= fromNs && box.fromNs <= toNs),
      marks: this.marks.filter(({ atNs }) => atNs >= fromNs && atNs <= toNs),
    };
  }

  /** Boxes of these actions that are still kept. */
  of(actions: readonly number[]): Box[] {
    return actions.flatMap((id) => this.boxes.get(id) ?? []);
  }

  /** Action drawn in a row at a time, with one of its requests if any was answered. */
  boxAt(row: number, ns: number): { readonly box: Box; readonly request: number | undefined } | null {
    for (const [id, box] of this.boxes) {
      if (box.row === row && box.fromNs <= ns && ns < box.toNs)
        return { box, request: this.requestOf.get(id) };
    }
    return null;
  }

  /** Mark nearest to a time, within a distance. */
  markAt(ns: number, withinNs: number): Mark | null {
    let nearest: Mark | null = null;
    let leastNs = withinNs;
    for (const mark of this.marks) {
      const awayNs = Math.abs(mark.atNs - ns);
      if (awayNs <= leastNs) [nearest, leastNs] = [mark, awayNs];
    }
    return nearest;
  }

  private addAction(rows: Float64Array, at: number): void {
    const read = (column: keyof typeof ACTION) => rows[at + ACTION[column]]!;
    const kind = read('kind');
    if (kind !== INFER && kind !== LOAD) return;
    const status = read('status');
    const hasBegun = !Number.isNaN(read('beginNs'));
    const fromNs = hasBegun ? read('beginNs') : read('expectedEndNs') - read('expectedDurationNs');
    this.boxes.set(read('id'), {
      ...{ fromNs, hasBegun },
      toNs: Number.isNaN(read('endNs')) ? fromNs + read('expectedDurationNs') : read('endNs'),
      row: read('gpu') * 2 + (kind === LOAD ? 1 : 0),
      model: read('model'),
      count: read('count'),
      batchSize: read('batchSize'),
      isInfer: kind === INFER,
      earliestNs: read('earliestNs'),
      latestNs: read('latestNs'),
      deadlineNs: read('deadlineNs'),
      failure: status > STATUS_OK ? statusName(status).replaceAll('_', ' ') : '',
    });
  }

  private addRequest(rows: Float64Array, at: number): void {
    const read = (column: keyof typeof REQUEST) => rows[at + REQUEST[column]]!;
    this.requestOf.set(read('action'), read('id'));
    // The request of a pipeline stands for those of its steps.
    if (read('cause') === -1 || read('parent') >= 0) return;
    const outcome = OUTCOME_NAMES[read('outcome')] as string;
    this.marks.push({ request: read('id'), model: read('model'), atNs: read('answeredNs'), outcome });
  }
}
