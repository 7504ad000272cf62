import { NS_PER_S } from '../base/units.js';
import { REAL_TIME } from '../base/world/real-time.js';
import type { Time } from '../base/world/time.js';
import { OUTCOME_CANCELLED, OUTCOME_REJECTED, type Outcome } from '../core/request.js';
import type { ServedModel, TensorSignature } from '../live/model.js';
import type { InferenceRequest, SchedulingService } from '../live/service.js';

/** Destination of a ticket's requests. */
type Destination =
  | { readonly kind: 'served'; readonly index: number }
  /** Replaced by this ticket's model. */
  | { readonly kind: 'replaced'; readonly by: number }
  /** Its memory was freed. The next request wakes it, and waits here meanwhile. */
  | { readonly kind: 'asleep'; readonly waiting: Waiting[] }
  | { readonly kind: 'gone'; readonly why: string };

/** A request waiting for its model to be loaded again. */
interface Waiting {
  readonly request: InferenceRequest;
  readonly sinceNs: number;
}

/** Requests beyond this are rejected. */
const MOST_WAITING = 1000;

/** Time for which a ticket without a model is kept: a large request may take minutes to arrive. */
const KNOWN_NS = 900 * NS_PER_S;

interface Ticket {
  readonly model: ServedModel;
  /** Index of the scheduler, or −1 if `to` applies; read for each request. */
  index: number;
  to: Destination;
  /** Number of requests so far. */
  uses: number;
}

/**
 * Numbers under which frontends send requests. A ticket is used once, while the scheduler's indices are reused: a
 * frontend may have read a request's model long before the rest of the request arrives.
 */
export class Tickets {
  private readonly tickets = new Map<number, Ticket>();
  private issued = 0;
  /** Replaced or retired ones, oldest first. */
  private readonly left: { readonly ticket: number; readonly to: Destination; readonly atNs: number }[] = [];

  constructor(
    private readonly service: Pick<SchedulingService, 'infer' | 'nowNs'>,
    /** Called once when a sleeping ticket is requested. */
    private readonly wake: (ticket: number) => void,
    private readonly time: Time = REAL_TIME,
  ) {}

  issue(model: ServedModel, index: number): number {
    this.forgetOld();
    const ticket = this.issued++;
    this.tickets.set(ticket, { model, index, to: { kind: 'served', index }, uses: 0 });
    return ticket;
  }

  usesOf(ticket: number): number {
    return this.tickets.get(ticket)?.uses ?? 0;
  }

  /** Index of the scheduler; −1: it does not have the ticket's model now. */
  indexOf(ticket: number): number {
    return this.tickets.get(ticket)?.index ?? -1;
  }

  replace(ticket: number, by: number): void {
    this.leaveForGood(ticket, { kind: 'replaced', by });
  }

  drop(ticket: number, why: string): void {
    this.leaveForGood(ticket, { kind: 'gone', why });
  }

  sleep(ticket: number): void {
    this.leave(ticket, { kind: 'asleep', waiting: [] });
  }

  /** Resumes serving the ticket's model. */
  awake(ticket: number, index: number): void {
    const known = this.tickets.get(ticket);
    if (known === undefined) return;
    const before = known.to;
    known.to = { kind: 'served', index };
    known.index = index;
    if (before.kind !== 'asleep') return;
    const nowNs = this.service.nowNs();
    for (const { request, sinceNs } of before.waiting) {
      request.asleepNs = nowNs - sinceNs;
      this.forward(request, index);
    }
  }

  infer(request: InferenceRequest): void {
    const ticket = this.tickets.get(request.model);
    if (ticket === undefined) {
      this.refuse(request, 'there is no such model');
      return;
    }
    ticket.uses++;
    if (ticket.index >= 0) this.forward(request, ticket.index);
    else this.inferElsewhere(request, request.model, ticket);
  }

  private inferElsewhere(request: InferenceRequest, number: number, asked: Ticket): void {
    let at = number;
    let ticket: Ticket | undefined = asked;
    while (ticket?.to.kind === 'replaced') {
      at = ticket.to.by;
      ticket = this.tickets.get(at);
    }
    if (ticket === undefined) this.refuse(request, 'there is no such model');
    else if (ticket.to.kind === 'gone') this.refuse(request, ticket.to.why);
    else if (ticket !== asked && !takesTheSame(asked.model, ticket.model)) {
      this.refuse(
        request,
        'the model was replaced while the request arrived, and takes different inputs now',
      );
    } else if (ticket.to.kind === 'served') this.forward(request, ticket.to.index);
    else if (ticket.to.kind === 'asleep') this.waitFor(request, at, ticket.to.waiting);
  }

  private waitFor(request: InferenceRequest, ticket: number, waiting: Waiting[]): void {
    if (waiting.length >= MOST_WAITING) {
      this.refuse(request, 'too many requests wait for the model to be loaded');
      return;
    }
    waiting.push({ request, sinceNs: this.service.nowNs() });
    request.keeper = { cancel: () => this.withdraw(request, waiting) };
    if (waiting.length === 1) this.wake(ticket);
  }

  private withdraw(request: InferenceRequest, waiting: Waiting[]): void {
    const at = waiting.findIndex((one) => one.request === request);
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

  private leaveForGood(ticket: number, to: Destination): void {
    this.leave(ticket, to);
    this.left.push({ ticket, to, atNs: this.service.nowNs() });
  }

  private leave(ticket: number, to: Destination): void {
    const known = this.tickets.get(ticket);
    if (known === undefined) return;
    const before = known.to;
    known.to = to;
    known.index = -1;
    if (before.kind === 'asleep')
      for (const { request } of before.waiting) this.inferElsewhere(request, ticket, known);
  }

  /** One that failed to load again may sleep by now, and is kept. */
  private forgetOld(): void {
    const { left, tickets } = this;
    const beforeNs = this.service.nowNs() - KNOWN_NS;
    while (left.length > 0 && left[0].atNs < beforeNs) {
      const { ticket, to } = left.shift() as (typeof left)[number];
      if (tickets.get(ticket)?.to === to) tickets.delete(ticket);
    }
  }
}

function takesTheSame(a: ServedModel, b: ServedModel): boolean {
  return shapes(a) === shapes(b);
}

function shapes({ signature: { inputs, outputs, batched, lengths } }: ServedModel): string {
  const plain = ({ name, datatype, shape }: TensorSignature) => [name, datatype, shape];
  return JSON.stringify([inputs.map(plain), outputs.map(plain), batched, lengths]);
}
