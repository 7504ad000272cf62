import type { ServiceDefinition } from '@grpc/grpc-js';
import type { Numbered } from './numbering.js';
import { ProtoFile } from './proto-file.js';

/** Messages in the form after decoding, and before encoding: registration.proto defines their meaning. */
export type RegistrationMessage =
  | { readonly body: 'registration'; readonly registration: WireRegistration }
  | { readonly body: 'leave'; readonly leave: Record<string, never> };

export interface WireRegistration {
  readonly address: string;
  readonly port: number;
  readonly instance: string;
}

export type LeaseMessage = { readonly body: 'lease'; readonly lease: WireLease };

export interface WireLease {
  readonly leaseMs: number;
  readonly joined: boolean;
  readonly problem: string;
}

/** Largest message of either side. */
export const MAX_REGISTRATION_BYTES = 16 * 1024;
/** Interval at which a worker renews its lease. */
export const RENEWAL_MS = 1000;

const PROTO = new ProtoFile('registration.proto', 'escapement.registration.v1');

export const REGISTRATION_MESSAGES = PROTO.messages<RegistrationMessage>('WorkerMessage');
export const LEASE_MESSAGES = PROTO.messages<LeaseMessage>('LeaseMessage');

/** Receives bytes, like `WORKER_SERVICE`. */
export const REGISTRATION_SERVICE = {
  Register: {
    path: `/${PROTO.packageName}.Controller/Register`,
    requestStream: true,
    responseStream: true,
    requestSerialize: (message: Numbered<RegistrationMessage>) => REGISTRATION_MESSAGES.encode(message),
    requestDeserialize: (bytes: Buffer) => bytes,
    responseSerialize: (message: Numbered<LeaseMessage>) => LEASE_MESSAGES.encode(message),
    responseDeserialize: (bytes: Buffer) => bytes,
  },
} satisfies ServiceDefinition;
