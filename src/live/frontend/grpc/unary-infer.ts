import type { ServedModel } from '../../model.js';
import type { Call } from '../call.js';
import { asRefusal, type Refusal } from '../refusal.js';
import type { GrpcInfer, InferSink } from './infer.js';
import { InferMessage } from './infer-message.js';
import { inferResponse } from './infer-response.js';
import type { WantedOutput } from './infer-tensors.js';
import type { Rpc, RpcMethod } from './rpc.js';

/** ModelInfer. */
export class UnaryInfer implements RpcMethod {
  readonly isOpen = false;
  readonly isStream = false;

  constructor(
    private readonly infer: GrpcInfer,
    readonly maxMessageBytes: number,
  ) {}

  message(rpc: Rpc, bytes: Uint8Array<ArrayBuffer>): void {
    const message = new InferMessage(bytes);
    this.infer.start(message, rpc, new Exchange(rpc, message.id));
  }

  refused({ kind }: Refusal, isAsked: boolean, label: number): void {
    if (!isAsked) this.infer.refusals.add(kind, label);
  }
}

class Exchange implements InferSink {
  constructor(
    private readonly rpc: Rpc,
    private readonly id: string,
  ) {}

  answered(call: Call, model: ServedModel, outputs: readonly WantedOutput[]): void {
    const { rpc } = this;
    if (rpc.isGone) return;
    try {
      const pieces = inferResponse(call, model, this.id, outputs);
      // Until its client has read it.
      let bytes = 0;
      for (const piece of pieces) bytes += piece.length;
      rpc.hold(bytes);
      rpc.finish(pieces);
    } catch (error) {
      rpc.refuse(asRefusal(error));
    }
  }

  refused(refusal: Refusal): void {
    this.rpc.refuse(refusal);
  }
}
