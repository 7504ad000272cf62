import type { ErrorCode } from '../../../base/errors.js';
import type { ServerSettings } from '../../../config/server-settings.js';
import type { OrtDeviceSpec } from '../../../live/device.js';
import type { ModelSignature } from '../../../live/model.js';
import type { MachineOptions } from '../../../live/worker/local-machine.js';

export type Protocol = 'http' | 'grpc';

/** What a child process is. */
export type Role =
  | {
      readonly kind: 'server';
      /** The GPU in its own process, or the address of a worker. */
      readonly gpu: MachineOptions | string;
      readonly settings: ServerSettings;
    }
  | { readonly kind: 'worker'; readonly machine: MachineOptions }
  | { readonly kind: 'synthetic'; readonly spec: SyntheticSpec };

export interface SyntheticSpec {
  readonly device: OrtDeviceSpec;
  readonly models: readonly SyntheticModel[];
}

export interface SyntheticModel {
  readonly name: string;
  readonly ortPath: string;
  readonly signature: ModelSignature;
  readonly batchSize: number;
  /** Of all requests. */
  readonly share: number;
}

export interface Ports {
  readonly http: number;
  readonly grpc: number;
  readonly metrics: number;
  /** Of a worker. */
  readonly worker: number;
}

/** What a process used since it was asked last. */
export interface Usage {
  /** Share of the time in which its event loop was busy. */
  readonly busy: number;
  /** Processors that all of its threads used on average. */
  readonly cores: number;
}

export interface SyntheticTrial {
  readonly requests: number;
  readonly tookNs: number;
}

/** Orders to a child. It answers each with one message. */
export type Order =
  | { readonly kind: 'start'; readonly role: Role }
  | { readonly kind: 'usage' }
  | { readonly kind: 'trial'; readonly seconds: number };

export type Answer =
  | { readonly kind: 'ready'; readonly ports: Ports }
  | { readonly kind: 'usage'; readonly usage: Usage }
  | { readonly kind: 'trial'; readonly trial: SyntheticTrial }
  | { readonly kind: 'failed'; readonly code: ErrorCode; readonly message: string };
