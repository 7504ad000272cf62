import { NS_PER_S } from '../base/units.js';
import { REAL_TIME } from '../base/world/real-time.js';
import type { Time } from '../base/world/time.js';
import { OUTCOME_CANCELLED, OUTCOME_REJECTED, type Outcome } from '../core/request.js';
import { type ServedModel, takesTheSame } from '../live/model.js';
import type { InferenceRequest, SchedulingService } from '../live/service.js';

/** Destination of a handle's requests. */
type Destination =
  | { readonly kind: 'served'; readonly index: number }
  /** Replaced by this handle's model. */
  | { readonly kind: 'replaced'; readonly by: number }
  /** Its memory was freed. The next request wakes it, and waits here meanwhile. */
  | { readonly kind: 'asleep'; readonly waiting: InferenceRequest[] }
  | { readonly kind: 'gone'; readonly why: string };

/** Requests beyond this are rejected. */
const MOST_WAITING = 1000;

/** Time for which a handle without a model is kept: a large request may take minutes to arrive. */
const KNOWN_NS = 900 * NS_PER_S;

interface ModelHandle {
  readonly model: ServedModel;
  /** Index of the scheduler, or −1 if `to` applies; read for each request. */
  index: number;
  to: Destination;
  /** Number of requests so far. */
  uses: number;
}

/**
 * Numbers under which frontends send requests. A handle is used once, while the scheduler's indices are reused: a
 * frontend may have read a request's model long before the rest of the request arrives.
 */
export class ModelHandles {
  private readonly handles = new Map<number, ModelHandle>();
  private issued = 0;
  /** Replaced or retired ones, oldest first. */
  private readonly left: { readonly handle: number; readonly to: Destination; readonly atNs: number }[] = [];

  constructor(
    private readonly service: Pick<SchedulingService, 'infer' | 'nowNs'>,
    /** Called once when a sleeping handle is requested. */
    private readonly wake: (handle: number) => void,
    private readonly time: Time = REAL_TIME,
  ) {}

  issue(model: ServedModel, index: number): number {
    this.forgetOld();
    const handle = this.issued++;
    this.handles.set(handle, { model, index, to: { kind: 'served', index }, uses: 0 });
    return handle;
  }

  usesOf(handle: number): number {
    return this.handles.get(handle)?.uses ?? 0;
  }

  /** Index of the scheduler; −1: it does not have the handle's model now. */
  indexOf(handle: number): number {
    return this.handles.get(handle)?.index ?? -1;
  }

  /** Indices of the scheduler to which requests of handles go. */
  get served(): ReadonlySet<number> {
    return new Set([...this.handles.values()].map(({ index }) => index));
  }

  replace(handle: number, by: number): void {
    this.leaveForGood(handle, { kind: 'replaced', by });
  }

  drop(handle: number, why: string): void {
    this.leaveForGood(handle, { kind: 'gone', why });
  }

  sleep(handle: number): void {
    this.leave(handle, { kind: 'asleep', waiting: [] });
  }

  /** Resumes serving the handle's model. */
  awake(handle: number, index: number): void {
    const known = this.handles.get(handle);
    if (known === undefined) return;
    const before = known.to;
    known.to = { kind: 'served', index };
    known.index = index;
    if (before.kind !== 'asleep') return;
    for (const request of before.waiting) this.forward(request, index);
  }

  /** Sends a request to its model. A property, since it is passed on as a function. */
  readonly infer = (request: InferenceRequest): void => {
    const handle = this.handles.get(request.model);
    if (handle === undefined) {
      this.refuse(request, 'there is no such model');
      return;
    }
    handle.uses++;
    if (handle.index >= 0) this.forward(request, handle.index);
    else this.inferElsewhere(request, request.model, handle);
  };

  private inferElsewhere(request: InferenceRequest, number: number, asked: ModelHandle): void {
    let at = number;
    let handle: ModelHandle | undefined = asked;
    while (handle?.to.kind === 'replaced') {
      at = handle.to.by;
      handle = this.handles.get(at);
    }
    if (handle === undefined) this.refuse(request, 'there is no such model');
    else if (handle.to.kind === 'gone') this.refuse(request, handle.to.why);
    else if (handle !== asked && !takesTheSame(asked.model, handle.model)) {
      this.refuse(
        request,
        'the model was replaced while the request arrived, and takes different inputs now',
      );
    } else if (handle.to.kind === 'served') this.forward(request, handle.to.index);
    else if (handle.to.kind === 'asleep') this.waitFor(request, at, handle.to.waiting);
  }

  private waitFor(request: InferenceRequest, handle: number, waiting: InferenceRequest[]): void {
    if (waiting.length >= MOST_WAITING) {
      this.refuse(request, 'too many requests wait for the model to be loaded');
      return;
    }
    waiting.push(request);
    request.keeper = { cancel: () => this.withdraw(request, waiting) };
    if (waiting.length === 1) this.wake(handle);
  }

  private withdraw(request: InferenceRequest, waiting: InferenceRequest[]): void {
    const at = waiting.indexOf(request);
    if (at < 0) return;
    waiting.splice(at, 1);
    this.answer(request, OUTCOME_CANCELLED, '');
  }

  private forward(request: InferenceRequest, index: number): void {
    request.model = index;
    this.service.infer(request);
  }

  /** Rejects a request for a temporary reason. Never from within the call that submits it. */
  private refuse(request: InferenceRequest, error: string): void {
    this.answer(request, OUTCOME_REJECTED, error);
  }

  private answer(request: InferenceRequest, outcome: Outcome, error: string): void {
    this.time.soon(() => request.done({ outcome, outputs: [], predictedNs: 0, batchSize: 0, error }));
  }

  private leaveForGood(handle: number, to: Destination): void {
    this.leave(handle, to);
    this.left.push({ handle, to, atNs: this.service.nowNs() });
  }

  private leave(handle: number, to: Destination): void {
    const known = this.handles.get(handle);
    if (known === undefined) return;
    const before = known.to;
    known.to = to;
    known.index = -1;
    if (before.kind === 'asleep')
      for (const request of before.waiting) this.inferElsewhere(request, handle, known);
  }

  /** Forgets old handles, but not of a model that failed to load again, which may sleep by now. */
  private forgetOld(): void {
    const { left, handles } = this;
    const beforeNs = this.service.nowNs() - KNOWN_NS;
    while (left.length > 0 && left[0].atNs < beforeNs) {
      const { handle, to } = left.shift() as (typeof left)[number];
      if (handles.get(handle)?.to === to) handles.delete(handle);
    }
  }
}
