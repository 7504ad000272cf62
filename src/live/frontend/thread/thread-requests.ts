import { freeLarge } from '../../free-buffers.js';
import { LARGE_BYTES } from '../../parcel.js';
import {
  type InferenceAnswer,
  type InferenceRequest,
  ServiceError,
  type WatchedService,
} from '../../service.js';
import {
  AnswerPacker,
  type PackedRequests,
  type ServiceMethod,
  type ToFrontend,
  unpackRequests,
} from './messages.js';

type Post = (message: ToFrontend, transfer: readonly ArrayBuffer[]) => void;

/** Requests of one frontend thread in the thread of the service. Answers that come together go back together. */
export class ThreadRequests {
  private readonly packer = new AnswerPacker();
  private isDue = false;
  private spent: Uint8Array[] = [];
  private readonly flush = () => this.send();
  /** By id; null: it has its answer. */
  private readonly waiting: (InferenceRequest | null)[] = [];
  private readonly offer = (id: number, request: InferenceRequest) => {
    this.waiting[id] = request;
    this.service.infer(request);
  };

  /** `inputs`: what the request came with, which is not needed any more. */
  private readonly answer = (id: number, answer: InferenceAnswer, inputs: readonly Uint8Array[]) => {
    this.waiting[id] = null;
    this.packer.add(id, answer);
    for (let i = 0; i < inputs.length; i++) if (inputs[i].length > LARGE_BYTES) this.spent.push(inputs[i]);
    if (this.isDue) return;
    this.isDue = true;
    // After all answers of this step, without a turn of the event loop in between.
    queueMicrotask(this.flush);
  };

  constructor(
    private readonly service: WatchedService,
    private readonly post: Post,
  ) {}

  submit(requests: PackedRequests): void {
    unpackRequests(requests, this.offer, this.answer);
  }

  /** It may have been answered while the word of it was on its way. */
  cancel(id: number): void {
    const request = this.waiting[id] ?? null;
    if (request !== null) request.keeper?.cancel(request);
  }

  async call(id: number, method: ServiceMethod, name: string): Promise<void> {
    try {
      const statistics = (await this.service[method](name)) ?? [];
      this.post({ kind: 'called', id, statistics, error: null }, []);
    } catch (error) {
      const kind = error instanceof ServiceError ? error.kind : null;
      const { message } = error as Error;
      this.post({ kind: 'called', id, statistics: [], error: { kind, message } }, []);
    }
  }

  private send(): void {
    this.isDue = false;
    const { packed, transfer } = this.packer.take();
    this.post(typeof packed === 'string' ? packed : { kind: 'answers', answers: packed }, transfer);
    if (this.spent.length === 0) return;
    freeLarge(this.spent);
    this.spent = [];
  }
}
