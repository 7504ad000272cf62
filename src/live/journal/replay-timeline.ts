import { NS_PER_MS } from '../../base/units.js';
import { type Action, INFER, LOAD, STATUS_WORKER_LOST } from '../../core/action.js';
import type { Controller } from '../../core/controller.js';
import type { RunObserver } from '../../core/observer.js';
import { OUTCOME_CANCELLED, OUTCOME_NAMES, type Outcome, type RequestTable } from '../../core/request.js';
import type { TimelineEntry } from '../../record/results.js';
import { REQUESTS, TimelineFile } from '../../record/timeline-file.js';
import type { JournalHeader } from './journal-header.js';
import type { ReplayWatcher } from './replay.js';

/** Colors in chrome://tracing, by outcome; Perfetto colors by name. */
const COLORS = ['good', 'bad', 'terrible', 'yellow', 'black', 'grey'];

const INFERS = { lane: 'EXEC', kind: 'INFER' } as const;
const LOADS = { lane: 'WEIGHTS', kind: 'LOAD' } as const;

/**
 * Writes what overlaps a part of a replay as a timeline, as both observer and watcher: the LOADs and INFERs of each GPU
 * with their windows, and the requests from arrival to answer. Throws `E_FILE_WRITE`.
 */
export class ReplayTimeline implements RunObserver, ReplayWatcher {
  private readonly file: TimelineFile;
  /** Actions and requests written. */
  actions = 0;
  requests = 0;
  private controller!: Controller;
  private readonly traces = new Map<number, string>();
  /** By GPU and lane: end of the last action shown. */
  private readonly freeNs = new Map<string, number>();

  constructor(
    path: string,
    private readonly fromNs: number,
    private readonly toNs: number,
  ) {
    this.file = new TimelineFile(path, { fromMs: fromNs / NS_PER_MS });
    this.file.name('process', { ...REQUESTS, tid: 0 }, 'controller', 0);
    this.file.name('thread', REQUESTS, 'requests', 0);
  }

  started(_: JournalHeader, controller: Controller): void {
    this.controller = controller;
  }

  traced(request: number, traceparent: string): void {
    this.traces.set(request, traceparent);
  }

  answered(
    requests: RequestTable,
    slot: number,
    outcome: Outcome,
    nowNs: number,
    _copies: number,
    action: Action | null,
  ): void {
    const id = requests.id[slot];
    const arrivalNs = requests.arrivalNs[slot];
    const traceparent = this.traces.get(id);
    this.traces.delete(id);
    if (nowNs < this.fromNs || arrivalNs >= this.toNs) return;
    const args = {
      model: this.controller.nameOf(requests.model[slot]),
      outcome: OUTCOME_NAMES[outcome],
      sloMs: requests.sloNs[slot] / NS_PER_MS,
      cold: requests.arrivalCopies[slot] === 0,
      ...(action === null ? {} : { action: action.id }),
      ...(traceparent === undefined ? {} : { traceparent }),
    };
    this.requests++;
    const span = { name: `request ${OUTCOME_NAMES[outcome]}`, cat: 'request', id, ...REQUESTS };
    this.file.span(span, arrivalNs, nowNs, { cname: COLORS[outcome], args });
  }

  cancelled(requests: RequestTable, slot: number, nowNs: number, copies: number): void {
    this.answered(requests, slot, OUTCOME_CANCELLED, nowNs, copies, null);
  }

  completed(action: Action, nowNs: number): void {
    const { gpu, kind, model, batchSize: batch, status, id, sentNs, earliestNs, latestNs } = action;
    // When an action of a lost worker ran is unknown.
    const { beginNs, endNs } = status === STATUS_WORKER_LOST ? { beginNs: nowNs, endNs: nowNs } : action;
    if ((kind !== INFER && kind !== LOAD) || endNs < this.fromNs || beginNs >= this.toNs) return;
    const lane = `${gpu} ${kind}`;
    // Viewers drop slices that overlap, and clocks of workers are read with an error.
    const fromNs = Math.max(beginNs, this.freeNs.get(lane) ?? 0);
    const toNs = Math.max(fromNs, endNs);
    this.freeNs.set(lane, toNs);
    const entry: TimelineEntry = {
      ...(kind === INFER ? INFERS : LOADS),
      ...{ gpu, model: this.controller.nameOf(model), batch, status },
      ...{ beginMs: fromNs / NS_PER_MS, endMs: toNs / NS_PER_MS, sentMs: sentNs / NS_PER_MS },
      earliestMs: Math.max(earliestNs, sentNs) / NS_PER_MS,
      latestMs: (latestNs === Number.POSITIVE_INFINITY ? toNs : latestNs) / NS_PER_MS,
    };
    this.file.action(entry, id);
    this.actions++;
  }

  close(): void {
    this.file.close();
  }

  /** Leaves no file. */
  discard(): void {
    this.file.discard();
  }
}
