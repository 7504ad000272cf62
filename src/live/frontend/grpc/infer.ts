import { KIB } from '../../../base/units.js';
import type { ServedModel } from '../../model.js';
import type { InferenceService } from '../../service.js';
import { Call, type CallSink, type RequestQuota } from '../call.js';
import type { Catalog } from '../catalog.js';
import type { CodecPool } from '../codec/codec-pool.js';
import { ownBuffers } from '../codec/own-buffers.js';
import { isWorthSplitting, type SplitInputs } from '../codec/split-inputs.js';
import type { Turn } from '../codec/turn-queue.js';
import { DecodingLimit } from '../decoding-limit.js';
import type { FrontendSettings } from '../frontend.js';
import { InputSet } from '../inputs.js';
import { OverRate } from '../over-rate.js';
import { checkRequestParameter } from '../parameters.js';
import { classOfPriority } from '../priority.js';
import { asRefusal, type Refusal } from '../refusal.js';
import type { RefusalCounts } from '../refusal-counts.js';
import { requestSloNs } from '../slo.js';
import { TenantNames } from '../tenant-names.js';
import type { TurnedAway } from '../turned-away.js';
import { bytesOfContents } from './contents.js';
import type { InferMessage } from './infer-message.js';
import { readInputs, type Typed, type WantedOutput, wantedOutputs } from './infer-tensors.js';

/** Where a request comes from. */
interface InferOrigin {
  /** When it came, on the service's clock. */
  readonly arrivalNs: number;
  /** How long its client waits, from then. */
  readonly timeoutNs: number;
  readonly trace: string | null;
  /** Its metadata. */
  readonly headers: Parameters<TenantNames['of']>[0];
  /** Whose turn in the codec threads it is. */
  readonly clientKey: string;
  /** Counts its requests. */
  readonly quota: RequestQuota;
  /** The client has gone: what has not begun need not begin. */
  readonly isGone: boolean;
  /** The `label` of the model that it names, once that is known. */
  label: number;
  /** The service has it, and counts what becomes of it. */
  asked(): void;
  /** Takes memory for it, or throws a refusal. */
  hold(bytes: number): void;
}

/** Who waits for the answer to a request. One of the two is called, once. */
export interface InferSink {
  /** `outputs`: those that the client wants. */
  answered(call: Call, model: ServedModel, outputs: readonly WantedOutput[]): void;
  refused(refusal: Refusal): void;
}

/** Typed contents up to this size are decoded in this thread. */
const SMALL_BYTES = 64 * KIB;

/** From the message of a ModelInfer to the service. */
export class GrpcInfer {
  private readonly tenants: TenantNames;
  readonly overRate: OverRate;

  constructor(
    readonly service: InferenceService,
    private readonly catalog: Catalog,
    private readonly settings: FrontendSettings,
    readonly codec: CodecPool,
    readonly refusals: RefusalCounts,
    turnedAway: TurnedAway,
  ) {
    this.tenants = new TenantNames(settings.tenants);
    this.overRate = new OverRate(settings.tenants.list, turnedAway);
  }

  nowNs(): number {
    return this.service.nowNs();
  }

  /** Throws a refusal, or calls `sink` later. */
  start(message: InferMessage, origin: InferOrigin, sink: InferSink): void {
    const entry = this.catalog.find(message.modelName, message.modelVersion);
    origin.label = entry.label ?? 0;
    const model = this.catalog.ready(entry);
    if (message.parameters !== null)
      for (const [name, value] of message.parameters)
        checkRequestParameter(name, value, this.settings.classes);
    const sloMs = message.parameters?.get('slo_ms');
    const timeoutUs = message.parameters?.get('timeout');
    const sloNs = requestSloNs(sloMs, timeoutUs, model, this.settings.defaultSloNs);
    const requestClass = classOfPriority(message.parameters?.get('priority'), this.settings.classes);
    const inputs = new InputSet(model, this.settings);
    const typed = readInputs(message, inputs);
    const outputs = wantedOutputs(message, model.signature);
    const asked = {
      sloNs: Math.min(sloNs, origin.timeoutNs),
      requestClass,
      tenant: this.tenants.of(origin.headers),
    };
    const request = new Request(this, entry.index, model, inputs, outputs, asked, origin, sink);
    if (typed === null) request.submit();
    else this.decode(message, typed, request);
  }

  private decode(message: InferMessage, typed: Typed, request: Request): void {
    const { inputs, origin } = request;
    let bytes = 0;
    let spanBytes = 0;
    for (const index of typed.indices) bytes += inputs.bytesOf(index);
    for (const { spans } of typed.tensors) for (const { from, to } of spans) spanBytes += to - from;
    // An element is at most 8 bytes, and takes one at least: more than this is no tensor but a lie.
    if (bytes <= 8 * spanBytes) origin.hold(bytes);
    if (spanBytes <= SMALL_BYTES) {
      request.decoded(
        typed.indices,
        typed.tensors.map((tensor) => bytesOfContents(message.bytes, tensor)),
      );
      return;
    }
    // So long a message has a buffer of its own.
    const transfer = [message.bytes.buffer];
    const job = { message: message.bytes, tensors: typed.tensors };
    this.codec.run('grpcContents', job, transfer, request.turn, {
      get isGone() {
        return origin.isGone;
      },
      limit: request.limit,
      coded: (tensors) => request.tryDecoded(typed.indices, tensors),
      notCoded: (refusal) => request.sink.refused(refusal),
    });
  }
}

/** What a request asks for besides the model. */
interface Asked {
  readonly sloNs: number;
  readonly requestClass: number;
  readonly tenant: number;
}

/** One request on its way to the service and back. */
class Request implements CallSink {
  /** From its arrival until a thread had decoded it; 0: none had to. */
  private decodingNs = 0;

  constructor(
    private readonly home: Pick<GrpcInfer, 'service' | 'codec' | 'overRate'>,
    private readonly index: number,
    private readonly model: ServedModel,
    readonly inputs: InputSet,
    private readonly outputs: readonly WantedOutput[],
    private readonly asked: Asked,
    readonly origin: InferOrigin,
    readonly sink: InferSink,
  ) {}

  get turn(): Turn {
    return { client: this.origin.clientKey, tenant: this.asked.tenant };
  }

  get limit(): DecodingLimit {
    const { sloNs, tenant } = this.asked;
    const { overRate, service } = this.home;
    const { arrivalNs, clientKey } = this.origin;
    return new DecodingLimit({ arrivalNs, sloNs, tenant, clientKey }, overRate, service);
  }

  /** Throws a refusal. */
  decoded(indices: readonly number[], tensors: readonly Uint8Array[]): void {
    for (let i = 0; i < indices.length; i++) this.inputs.put(indices[i], tensors[i]);
    this.submit();
  }

  tryDecoded(indices: readonly number[], tensors: readonly Uint8Array[]): void {
    this.decodingNs = this.home.service.nowNs() - this.origin.arrivalNs;
    this.attempt(() => this.decoded(indices, tensors));
  }

  /** Throws a refusal. */
  submit(): void {
    const { origin } = this;
    const { count } = this.inputs;
    const inputs = this.inputs.complete();
    if (!isWorthSplitting({ inputs, count })) {
      this.ask(inputs, null);
      return;
    }
    this.home.codec.run('splitInputs', { inputs, count }, ownBuffers(inputs), this.turn, {
      get isGone() {
        return origin.isGone;
      },
      coded: (split) => this.attempt(() => this.ask(inputs, split)),
      notCoded: (refusal) => this.sink.refused(refusal),
    });
  }

  /** Later, for a client that may have gone. */
  private attempt(act: () => void): void {
    if (this.origin.isGone) return;
    try {
      act();
    } catch (error) {
      this.sink.refused(asRefusal(error));
    }
  }

  /** Throws a refusal. */
  private ask(inputs: readonly Uint8Array[], split: SplitInputs | null): void {
    const { index, origin } = this;
    const { sloNs, requestClass, tenant } = this.asked;
    new Call(this.inputs.count, this, origin.quota).submit(this.home.service, {
      model: index,
      arrivalNs: origin.arrivalNs,
      sloNs,
      requestClass,
      tenant,
      inputs,
      split,
      shapes: this.inputs.shapes,
      length: this.inputs.length,
      decodingNs: this.decodingNs,
      trace: origin.trace,
    });
    origin.asked();
  }

  answered(call: Call): void {
    const refusal = call.refusal();
    if (refusal === null) {
      this.sink.answered(call, this.model, this.outputs);
      return;
    }
    const { overRate, service } = this.home;
    overRate.note(this.asked.tenant, refusal, service.nowNs());
    this.sink.refused(refusal);
  }
}
