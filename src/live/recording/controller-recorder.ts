import { type Action, STATUS_WORKER_LOST } from '../../core/action.js';
import type { RunObserver } from '../../core/observer.js';
import { OUTCOME_CANCELLED, type Outcome, type RequestTable } from '../../core/request.js';
import type { LiveEvents } from '../controller/live-events.js';
import type { ResultMessage } from '../messages.js';
import { Recording } from './recording.js';

/**
 * Records events around the core while switched on; otherwise it costs a branch. In the order of the controller:
 * results precede the step that processes them; answers and orders come within it.
 */
export class ControllerRecorder
  implements RunObserver, Pick<LiveEvents, 'traced' | 'stepped' | 'sent' | 'ran'>
{
  private recording: Recording | null = null;
  /** Counts of the current step so far; a reused object. */
  private readonly step = { arrived: 0, answered: 0, results: 0, sent: 0 };
  private unansweredBefore = 0;
  /** By action without a result: row of the step that sent it. */
  private readonly stepOf = new Map<number, number>();

  /** `unanswered`: number of requests that the core has not answered. */
  constructor(private readonly unanswered: () => number) {}

  begin(nowNs: number): void {
    this.recording = new Recording(nowNs);
    this.startStep();
  }

  /** Returns the recording since `begin`. */
  end(): Recording | null {
    const { recording } = this;
    this.recording = null;
    this.stepOf.clear();
    return recording;
  }

  traced(id: number, traceparent: string): void {
    this.recording?.addTrace(id, traceparent);
  }

  answered(
    requests: RequestTable,
    slot: number,
    outcome: Outcome,
    nowNs: number,
    _copies: number,
    action: Action | null,
  ): void {
    if (this.recording === null) return;
    this.step.answered++;
    this.recording.add(this.recording.requests, {
      id: requests.id[slot],
      model: requests.model[slot],
      arrival: requests.arrivalNs[slot],
      slo: requests.sloNs[slot],
      outcome,
      answered: nowNs,
      action: action === null ? -1 : action.id,
      copies: requests.arrivalCopies[slot],
    });
  }

  cancelled(requests: RequestTable, slot: number, nowNs: number, copies: number): void {
    this.answered(requests, slot, OUTCOME_CANCELLED, nowNs, copies, null);
  }

  /** An action whose worker was lost has no result for `ran`. */
  completed(action: Action, nowNs: number): void {
    if (this.recording === null || action.status !== STATUS_WORKER_LOST) return;
    this.add(action, { beginNs: nowNs, endNs: nowNs, copyInNs: 0, copyOutNs: 0 });
  }

  ran(action: Action, result: ResultMessage): void {
    if (this.recording !== null) this.add(action, result);
  }

  sent(action: Action): void {
    if (this.recording === null) return;
    this.step.sent++;
    this.stepOf.set(action.id, this.recording.steps.count);
  }

  stepped(nowNs: number, tookNs: number): void {
    if (this.recording === null) return;
    const { step } = this;
    step.arrived = this.unanswered() - this.unansweredBefore + step.answered;
    const didSomething = step.arrived + step.answered + step.results + step.sent > 0;
    if (didSomething) this.recording.add(this.recording.steps, { begin: nowNs, took: tookNs, ...step });
    this.startStep();
  }

  /** `ran`: the worker's times, since the core counts zero durations as a microsecond. */
  private add(
    action: Action,
    ran: Pick<ResultMessage, 'beginNs' | 'endNs' | 'copyInNs' | 'copyOutNs'>,
  ): void {
    this.step.results++;
    const { id, kind, gpu, model, batchSize, count, status } = action;
    this.recording?.add(this.recording.actions, {
      id,
      kind,
      gpu,
      model,
      batch: batchSize,
      count,
      status,
      step: this.stepOf.get(id) ?? -1,
      sent: action.sentNs,
      earliest: action.earliestNs,
      latest: action.latestNs,
      expected: action.expectedDurationNs,
      begin: ran.beginNs,
      end: ran.endNs,
      copyIn: ran.copyInNs,
      copyOut: ran.copyOutNs,
    });
    this.stepOf.delete(id);
  }

  private startStep(): void {
    const { step } = this;
    step.answered = 0;
    step.results = 0;
    step.sent = 0;
    this.unansweredBefore = this.unanswered();
  }
}
