import { freeLarge } from '../../free-buffers.js';
import type { Shape } from '../../model.js';
import { LARGE_BYTES } from '../../parcel.js';
import {
  type InferenceAnswer,
  type InferenceRequest,
  type RequestKeeper,
  ServiceError,
  type WatchedService,
} from '../../service.js';
import { AnswerPacker, unpackRequests } from './pack.js';
import type { PackedRequests, ServiceCall, ToFrontend } from './thread-messages.js';

type Post = (message: ToFrontend, transfer: readonly ArrayBuffer[]) => void;

/** Requests of one frontend thread in the thread of the service. Answers that come together go back together. */
export class ThreadRequests {
  private readonly packer = new AnswerPacker();
  private isDue = false;
  private spent: Uint8Array[] = [];
  private readonly flush = () => this.send();
  /** By id; null: it has its answer. */
  private readonly waiting: (ThreadRequest | null)[] = [];
  private readonly offer = (id: number, given: Omit<InferenceRequest, 'done'>) => {
    const request = new ThreadRequest(id, this, given);
    this.waiting[id] = request;
    this.service.infer(request);
  };

  constructor(
    private readonly service: WatchedService,
    private readonly post: Post,
  ) {}

  submit(requests: PackedRequests): void {
    unpackRequests(requests, this.offer);
  }

  /** It may have been answered while the word of it was on its way. */
  cancel(id: number): void {
    const request = this.waiting[id] ?? null;
    if (request !== null) request.keeper?.cancel(request);
  }

  async call(id: number, call: ServiceCall): Promise<void> {
    try {
      const { service } = this;
      const statistics = call.method === 'statistics' ? await service.statistics() : [];
      if (call.method === 'look') await service.look();
      if ('name' in call) await service[call.method](call.name);
      this.post({ kind: 'called', id, statistics, error: null }, []);
    } catch (error) {
      const kind = error instanceof ServiceError ? error.kind : null;
      const { message } = error as Error;
      this.post({ kind: 'called', id, statistics: [], error: { kind, message } }, []);
    }
  }

  /** `inputs`: what the request came with, which is not needed any more. */
  answer(id: number, answer: InferenceAnswer, inputs: readonly Uint8Array[]): void {
    this.waiting[id] = null;
    this.packer.add(id, answer);
    for (let i = 0; i < inputs.length; i++) if (inputs[i].length > LARGE_BYTES) this.spent.push(inputs[i]);
    if (this.isDue) return;
    this.isDue = true;
    // After all answers of this step, without a turn of the event loop in between.
    queueMicrotask(this.flush);
  }

  private send(): void {
    this.isDue = false;
    const { packed, transfer } = this.packer.take();
    this.post(typeof packed === 'string' ? packed : { kind: 'answers', answers: packed }, transfer);
    // Where they did not move on to a thread that runs models, they are still here.
    if (this.spent.length === 0) return;
    freeLarge(this.spent);
    this.spent = [];
  }
}

class ThreadRequest implements InferenceRequest {
  readonly model: number;
  readonly user: number;
  readonly requestClass: number;
  readonly tenant: number;
  readonly length: number;
  readonly sloNs: number;
  readonly arrivalNs: number | undefined;
  readonly trace: string | null;
  readonly shapes: readonly Shape[] | undefined;
  readonly mayMove = true;
  inputs: readonly Uint8Array[];
  keeper?: RequestKeeper;
  slot?: number;

  constructor(
    private readonly id: number,
    private readonly thread: ThreadRequests,
    request: Omit<InferenceRequest, 'done'>,
  ) {
    const { model, user, sloNs, arrivalNs, trace = null, shapes, inputs } = request;
    const { requestClass = 0, tenant = 0, length = 0 } = request;
    this.model = model;
    this.user = user;
    this.requestClass = requestClass;
    this.tenant = tenant;
    this.length = length;
    this.sloNs = sloNs;
    this.arrivalNs = arrivalNs;
    this.trace = trace;
    this.shapes = shapes;
    this.inputs = inputs;
  }

  done(answer: InferenceAnswer): void {
    this.thread.answer(this.id, answer, this.inputs);
  }
}
