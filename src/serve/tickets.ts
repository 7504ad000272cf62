import { REAL_TIME } from '../base/world/real-time.js';
import type { Time } from '../base/world/time.js';
import { OUTCOME_REJECTED } from '../core/request.js';
import type { ServedModel, TensorSignature } from '../live/model.js';
import type { InferenceRequest, SchedulingService } from '../live/service.js';

/** Where the requests of a ticket go. */
type Destination =
  | { readonly kind: 'served'; readonly index: number }
  /** It was replaced by what this ticket stands for. */
  | { readonly kind: 'replaced'; readonly by: number }
  /** Its memory was given back. The next request wakes it up, and waits here until it is. */
  | { readonly kind: 'asleep'; readonly waiting: Waiting[] }
  | { readonly kind: 'gone'; readonly why: string };

/** A request that waits for its model to be loaded again. */
interface Waiting {
  readonly request: InferenceRequest;
  readonly sinceNs: number;
}

/** More of them wait in vain. */
const MOST_WAITING = 1000;

/**
 * Numbers under which frontends send requests. A ticket is given out once, while the scheduler's indices are used again:
 * a frontend may have read a request's model long before the rest of the request arrives.
 */
export class Tickets {
  private readonly models: ServedModel[] = [];
  private readonly destinations: Destination[] = [];
  /** By ticket: the scheduler's index, −1 where `destinations` says more. For each request. */
  private readonly indices: number[] = [];
  /** By ticket: requests so far. */
  private readonly uses: number[] = [];

  constructor(
    private readonly service: Pick<SchedulingService, 'infer' | 'nowNs'>,
    /** Called once when a ticket that sleeps is asked for. */
    private readonly wake: (ticket: number) => void,
    private readonly time: Time = REAL_TIME,
  ) {}

  issue(model: ServedModel, index: number): number {
    this.models.push(model);
    this.destinations.push({ kind: 'served', index });
    this.uses.push(0);
    return this.indices.push(index) - 1;
  }

  usesOf(ticket: number): number {
    return this.uses[ticket];
  }

  /** The scheduler's index; −1: it does not know the ticket's model now. */
  indexOf(ticket: number): number {
    return this.indices[ticket];
  }

  replace(ticket: number, by: number): void {
    this.leave(ticket, { kind: 'replaced', by });
  }

  drop(ticket: number, why: string): void {
    this.leave(ticket, { kind: 'gone', why });
  }

  sleep(ticket: number): void {
    this.leave(ticket, { kind: 'asleep', waiting: [] });
  }

  /** The ticket's model is served again. */
  awake(ticket: number, index: number): void {
    const before = this.destinations[ticket];
    this.destinations[ticket] = { kind: 'served', index };
    this.indices[ticket] = index;
    if (before.kind !== 'asleep') return;
    const nowNs = this.service.nowNs();
    for (const { request, sinceNs } of before.waiting) {
      request.asleepNs = nowNs - sinceNs;
      this.forward(request, index);
    }
  }

  infer(request: InferenceRequest): void {
    const ticket = request.model;
    this.uses[ticket]++;
    const index = this.indices[ticket] ?? -1;
    if (index >= 0) this.forward(request, index);
    else this.inferElsewhere(request, ticket);
  }

  private inferElsewhere(request: InferenceRequest, asked: number): void {
    let ticket = asked;
    let to = this.destinations[ticket];
    while (to?.kind === 'replaced') {
      ticket = to.by;
      to = this.destinations[ticket];
    }
    if (to === undefined) this.refuse(request, 'there is no such model');
    else if (to.kind === 'gone') this.refuse(request, to.why);
    else if (ticket !== asked && !takesTheSame(this.models[asked], this.models[ticket])) {
      this.refuse(request, 'the model was replaced while the request arrived, and takes other inputs now');
    } else if (to.kind === 'served') this.forward(request, to.index);
    else if (to.kind === 'asleep') this.waitFor(request, ticket, to.waiting);
  }

  private waitFor(request: InferenceRequest, ticket: number, waiting: Waiting[]): void {
    if (waiting.length >= MOST_WAITING) {
      this.refuse(request, 'too many requests wait for the model to be loaded');
      return;
    }
    waiting.push({ request, sinceNs: this.service.nowNs() });
    if (waiting.length === 1) this.wake(ticket);
  }

  private forward(request: InferenceRequest, index: number): void {
    request.model = index;
    this.service.infer(request);
  }

  /** Not served, for a reason that may pass. Never from within the call that submits it. */
  private refuse(request: InferenceRequest, error: string): void {
    const answer = { outcome: OUTCOME_REJECTED, outputs: [], predictedNs: 0, batchSize: 0, error } as const;
    this.time.soon(() => request.done(answer));
  }

  private leave(ticket: number, to: Destination): void {
    const before = this.destinations[ticket];
    this.destinations[ticket] = to;
    this.indices[ticket] = -1;
    if (before.kind === 'asleep')
      for (const { request } of before.waiting) this.inferElsewhere(request, ticket);
  }
}

function takesTheSame(a: ServedModel, b: ServedModel): boolean {
  return shapes(a) === shapes(b);
}

function shapes({ signature: { inputs, outputs, batched, lengths } }: ServedModel): string {
  const plain = ({ name, datatype, shape }: TensorSignature) => [name, datatype, shape];
  return JSON.stringify([inputs.map(plain), outputs.map(plain), batched, lengths]);
}
