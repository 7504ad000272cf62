import type { ServiceDefinition } from '@grpc/grpc-js';
import type { ModelReference } from '../messages.js';
import type { OfferedVersion } from '../model-list.js';
import type { OperatorNode } from '../operator-table.js';
import type { Numbered } from './numbering.js';
import { ProtoFile } from './proto-file.js';

/** Incremented whenever a side of the older version could misunderstand one of the newer. */
export const PROTOCOL_VERSION = 11;

/** Default limit on messages of either side: a batch of 16 images of 1024 × 1024 in FP32. */
export const DEFAULT_MAX_MESSAGE_BYTES = 256 * 1024 * 1024;
/** Reason with which a worker that was asked to shut down ends a stream. */
export const WORKER_SHUTS_DOWN = 'the worker shuts down';

/** Messages in the form after decoding, and before encoding: worker.proto defines their meaning. */
export type ControllerMessage =
  | { readonly body: 'quiesce'; readonly quiesce: { readonly number: number } }
  | { readonly body: 'actions'; readonly actions: { readonly actions: readonly WireAction[] } }
  | { readonly body: 'ping'; readonly ping: { readonly sentNs: number } }
  | { readonly body: 'startRecording'; readonly startRecording: Record<string, never> }
  | { readonly body: 'stopRecording'; readonly stopRecording: { readonly number: number } }
  | { readonly body: 'listModels'; readonly listModels: WireListModels }
  | { readonly body: 'modelChange'; readonly modelChange: WireModelChange }
  | { readonly body: 'take'; readonly take: { readonly term: number } }
  | { readonly body: 'bye'; readonly bye: Record<string, never> };

export type WorkerMessage =
  | { readonly body: 'welcome'; readonly welcome: Welcome }
  | { readonly body: 'state'; readonly state: WireState }
  | { readonly body: 'results'; readonly results: { readonly results: readonly WireResult[] } }
  | { readonly body: 'pong'; readonly pong: { readonly sentNs: number; readonly workerNs: number } }
  | { readonly body: 'gpuDown'; readonly gpuDown: { readonly gpu: number; readonly reason: string } }
  | { readonly body: 'operators'; readonly operators: WireOperators }
  | { readonly body: 'recordingEnd'; readonly recordingEnd: WireRecordingEnd }
  | { readonly body: 'modelList'; readonly modelList: WireModelList }
  | { readonly body: 'modelChanged'; readonly modelChanged: WireModelChanged }
  | { readonly body: 'lease'; readonly lease: LeaseState };

/** Driver of a worker. */
export interface LeaseState {
  /** Term of the driver, or of the last one while there is none. 0: there never was one. */
  readonly term: number;
  /** Empty: none. */
  readonly controller: string;
}

export interface WireListModels {
  readonly number: number;
  readonly name?: string;
}

export interface WireModelList {
  readonly number: number;
  readonly error: string;
  readonly versions: readonly OfferedVersion[];
  readonly problems: readonly { readonly name: string; readonly version?: string; readonly what: string }[];
  readonly skipped: readonly string[];
  readonly notes: readonly string[];
}

export interface WireModelChange {
  readonly number: number;
  readonly index: number;
  readonly reference?: ModelReference | null;
}

export interface WireModelChanged {
  readonly number: number;
  readonly error: string;
  readonly model?: WireModel | null;
}

export interface WireAction {
  readonly id: number;
  readonly gpu: number;
  readonly kind: number;
  readonly model: number;
  readonly batchIndex: number;
  readonly bucket?: number;
  readonly count: number;
  readonly earliestNs: number;
  readonly latestNs?: number;
  readonly inputs: readonly Uint8Array[];
  readonly shapes?: readonly WireShape[];
}

interface WireShape {
  readonly dims: readonly number[];
}

export interface WireResult {
  readonly id: number;
  readonly gpu: number;
  readonly status: number;
  readonly beginNs: number;
  readonly endNs: number;
  readonly copyInNs: number;
  readonly copyOutNs: number;
  readonly outputs: readonly Uint8Array[];
  readonly shapes?: readonly WireShape[];
  readonly error: string;
  readonly inputErrors?: readonly string[];
}

export interface WireOperators {
  readonly number: number;
  readonly nodes: readonly OperatorNode[];
  readonly node: readonly number[];
  readonly action: readonly number[];
  readonly beginNs: readonly number[];
  readonly endNs: readonly number[];
}

export interface WireRecordingEnd {
  readonly number: number;
  readonly dropped: number;
  readonly error: string;
}

export interface WireState {
  readonly number: number;
  readonly gpus: readonly { readonly present: readonly number[] }[];
  readonly changes: readonly WireModelChange[];
}

export interface Welcome {
  readonly gpus: readonly WireGpu[];
  readonly pageBytes: number;
  readonly models: readonly WireModel[];
  readonly maxMessageBytes: number;
  /** Empty: unnamed. */
  readonly instance: string;
  /** Empty: not given. */
  readonly kind: string;
}

interface WireGpu {
  readonly name: string;
  readonly provider: string;
  readonly pages: number;
  readonly oneLane: boolean;
}

export interface WireModel {
  readonly spec: WireSpec;
  readonly signature: WireSignature;
  readonly version: string;
  readonly sloNs?: number;
  readonly digest?: string;
  readonly labels?: readonly { readonly names: readonly string[] }[];
}

interface WireSpec {
  readonly name: string;
  readonly weightsBytes: number;
  readonly pages: number;
  readonly loadNs: number;
  readonly batchSizes: readonly number[];
  readonly execNs: readonly number[];
  readonly inputBytes: number;
  readonly outputBytes: number;
  readonly lengths?: readonly number[];
  readonly execNsByLength?: readonly { readonly execNs: readonly number[] }[];
  readonly equalLengths?: boolean;
}

interface WireSignature {
  readonly inputs: readonly WireTensor[];
  readonly outputs: readonly WireTensor[];
  readonly batched: boolean;
  readonly lengths?: WireLengths | null;
}

interface WireLengths {
  readonly buckets: readonly number[];
  readonly fill: readonly { readonly value?: number }[];
}

export interface WireTensor {
  readonly name: string;
  readonly datatype: string;
  readonly shape: readonly number[];
  readonly bytes: number;
}

const PROTO = new ProtoFile('worker.proto', 'escapement.worker.v1');

export const CONTROLLER_MESSAGES = PROTO.messages<ControllerMessage>('ControllerMessage');
export const WORKER_MESSAGES = PROTO.messages<WorkerMessage>('WorkerMessage');

/** Receives bytes, so that the receiver controls when they are decoded, and how errors are handled. */
export const WORKER_SERVICE = {
  Drive: {
    path: `/${PROTO.packageName}.Worker/Drive`,
    requestStream: true,
    responseStream: true,
    requestSerialize: (message: Numbered<ControllerMessage>) => CONTROLLER_MESSAGES.encode(message),
    requestDeserialize: (bytes: Buffer) => bytes,
    responseSerialize: (message: Numbered<WorkerMessage>) => WORKER_MESSAGES.encode(message),
    responseDeserialize: (bytes: Buffer) => bytes,
  },
} satisfies ServiceDefinition;
