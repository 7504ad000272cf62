import type { Outcome } from '../core/request.js';
import type { ServedModel, Shape } from './model.js';

/** Inference as the frontends see it: one request in, exactly one answer out. */
export interface InferenceService {
  /** True when every model can be served: enough workers are up. False again while draining. */
  readonly ready: boolean;
  readonly models: readonly ServedModel[];
  /** Index into `models`, or −1. */
  modelIndex(name: string): number;
  /** False while the operator has taken the model out of service. */
  isAvailable(model: number): boolean;
  setAvailable(model: number, available: boolean): void;
  /** Its clock, on which requests arrive. */
  nowNs(): number;
  /** Submits one request. `done` is called once, later, never from within this call. */
  infer(request: InferenceRequest): void;
}

export interface InferenceRequest {
  readonly model: number;
  /** Who sends it, for logs and per-section figures; 0 if that is not known. */
  readonly user: number;
  /** SLO. */
  readonly sloNs: number;
  /** What the SLO counts from, on the service's clock and not later than now; absent: now. */
  readonly arrivalNs?: number;
  /** One entry for each input of the model, of exactly its size in bytes. Kept until the answer. */
  readonly inputs: readonly Uint8Array[];
  /** Their whole shapes; only for a model with free sizes. */
  readonly shapes?: readonly Shape[] | undefined;
  done(answer: InferenceAnswer): void;
}

export interface InferenceAnswer {
  /** One of the core's OUTCOME_ constants. `late` has outputs, too. */
  readonly outcome: Outcome;
  /** One entry for each output of the model; empty unless it was executed. */
  readonly outputs: readonly Uint8Array[];
  /** Their whole shapes; only of a model with free sizes. */
  readonly shapes?: readonly Shape[] | undefined;
  /** Of a rejected request: the latency that was to be expected, from its arrival on. Otherwise 0. */
  readonly predictedNs: number;
  /** Of a rejected request: how much of that had passed when it was refused. Absent: nothing. */
  readonly passedNs?: number;
  /** Batch that it ran in; 0 if it did not. */
  readonly batchSize: number;
  /** For people: why it failed on the device; empty otherwise. */
  readonly error: string;
}
