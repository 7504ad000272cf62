import type { Clock } from '../../../base/clock/clock.js';
import {
  type InferenceRequest,
  type InferenceService,
  type ModelStatistics,
  type RequestKeeper,
  ServiceError,
  type ServiceState,
} from '../../service.js';
import {
  type FromFrontend,
  RequestPacker,
  type ServiceMethod,
  type ToFrontend,
  unpackAnswers,
} from './messages.js';

type Post = (message: FromFrontend, transfer: readonly ArrayBuffer[]) => void;

/** The service as frontends in another thread see it. What they ask in one turn of the event loop is one message. */
export class RemoteService implements InferenceService, RequestKeeper {
  /**
   * By slot; null: it has its answer, and the slot is used again. A `Map` would leave its old tables behind, each of which
   * refers to the next one: once one of them is old, the collector takes all that come after it for alive.
   */
  private readonly requests: (InferenceRequest | null)[] = [];
  private readonly freeSlots: number[] = [];
  private readonly calls = new Map<number, Waiting>();
  private readonly packer = new RequestPacker();
  private lastCall = 0;
  private isDue = false;
  private readonly flush = () => this.send();
  private readonly answer = (id: number, answer: Parameters<InferenceRequest['done']>[0]) => {
    const request = this.requests[id] ?? null;
    if (request === null) return;
    this.requests[id] = null;
    this.freeSlots.push(id);
    request.done(answer);
  };

  /** While the service's thread hangs: its last state, which says so. */
  private hungState: ServiceState | null = null;

  constructor(
    private lastState: ServiceState,
    /** The service's. */
    private readonly clock: Clock,
    private readonly post: Post,
  ) {}

  get state(): ServiceState {
    return this.hungState ?? this.lastState;
  }

  /** The service's thread hangs, for this reason; null: it goes on. */
  hangs(reason: string | null): void {
    this.hungState =
      reason === null
        ? null
        : {
            ...this.lastState,
            notReady: `the thread that schedules ${reason}`,
            takesRequests: false,
            hangs: true,
          };
  }

  nowNs(): number {
    return this.clock.nowNs();
  }

  infer(request: InferenceRequest): void {
    const slot = this.freeSlots.pop() ?? this.requests.length;
    this.requests[slot] = request;
    this.packer.add(slot, request, request.arrivalNs ?? this.nowNs());
    request.keeper = this;
    request.slot = slot;
    if (this.isDue) return;
    this.isDue = true;
    this.clock.time.soon(this.flush);
  }

  cancel({ slot = -1 }: InferenceRequest): void {
    // It may wait here to be sent.
    this.send();
    this.post({ kind: 'cancel', id: slot }, []);
  }

  async load(name: string): Promise<void> {
    await this.call('load', name);
  }

  async unload(name: string): Promise<void> {
    await this.call('unload', name);
  }

  async look(): Promise<void> {
    await this.call('look');
  }

  statistics(): Promise<readonly ModelStatistics[]> {
    return this.call('statistics');
  }

  /** Takes a message of the host; those about the frontend itself are not for it. */
  receive(message: Exclude<ToFrontend, { readonly kind: 'close' | 'renew' }>): void {
    if (typeof message === 'string') unpackAnswers(message, this.answer);
    else if (message.kind === 'answers') unpackAnswers(message.answers, this.answer);
    else if (message.kind === 'state') this.lastState = message.state;
    else this.called(message);
  }

  private send(): void {
    if (!this.isDue) return;
    this.isDue = false;
    const { packed, transfer } = this.packer.take();
    this.post(typeof packed === 'string' ? packed : { kind: 'requests', requests: packed }, transfer);
  }

  private call(method: ServiceMethod, name = ''): Promise<readonly ModelStatistics[]> {
    const id = ++this.lastCall;
    this.post({ kind: 'call', id, method, name }, []);
    return new Promise((resolve, reject) => this.calls.set(id, { resolve, reject }));
  }

  private called({ id, statistics, error }: Extract<ToFrontend, { readonly kind: 'called' }>): void {
    const waiting = this.calls.get(id);
    this.calls.delete(id);
    if (error === null) waiting?.resolve(statistics);
    else if (error.kind === null) waiting?.reject(new Error(error.message));
    else waiting?.reject(new ServiceError(error.kind, error.message));
  }
}

interface Waiting {
  resolve(statistics: readonly ModelStatistics[]): void;
  reject(error: Error): void;
}
