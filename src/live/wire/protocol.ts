import type { ServiceDefinition } from '@grpc/grpc-js';
import * as z from 'zod';
import { EscapementError } from '../../base/errors.js';
import type { ActionMessage, ResultMessage } from '../messages.js';
import { FREE } from '../model.js';
import type { ModelList } from '../model-list.js';
import { DATATYPE, DESCRIPTION, MODEL_INDEX, MODEL_REFERENCE, SERVED_MODEL, STATE } from './description.js';
import { checked, listOf, Messages, streamMethod, TEXT, type TextLimits, WORDS } from './framing.js';

/** Incremented whenever a side of the older version could misunderstand one of the newer. */
export const PROTOCOL_VERSION = 15;

/** Default limit on messages of either side: a batch of 16 images of 1024 × 1024 in FP32. */
export const DEFAULT_MAX_MESSAGE_BYTES = 256 * 1024 * 1024;
/** Reason with which a worker that was asked to shut down ends a stream. */
export const WORKER_SHUTS_DOWN = 'the worker shuts down';

/** More than a chunk of the smallest actions, and than a batch of the smallest inputs. */
const MOST_TEXT_BYTES = 2 * 1024 * 1024;
const SMALL: TextLimits = { bytes: MOST_TEXT_BYTES, parts: 1_000_000 };
/** More than the description of a thousand models with a thousand labels each. */
const MOST_DESCRIPTION_BYTES = 32 * 1024 * 1024;
const LARGE: TextLimits = { bytes: MOST_DESCRIPTION_BYTES, parts: 2_000_000 };

const INT = z.int();
/** Machine clocks count from the start of the machine; after 104 days they exceed exact integers. */
const NS = z.number();
/** One check of all elements, since a batch may have thousands. */
const SIZES = z.custom<readonly number[]>(
  (sizes) => Array.isArray(sizes) && sizes.every((size) => Number.isSafeInteger(size) && size >= 0),
  'expected sizes',
);
const SIZE = INT.nonnegative();
const SHAPES = listOf(SIZES).optional();

/** Tensors that a worker keeps. */
const KEYS = listOf(INT.positive());

/** Sizes until their tensors take their places. What it means is checked by the worker. */
const ACTION = z.object({
  id: INT,
  gpu: INT,
  kind: INT,
  model: INT,
  batchIndex: INT,
  bucket: INT.optional(),
  count: INT,
  earliestNs: NS,
  // JSON has no Infinity.
  latestNs: NS.nullable().transform((ns) => ns ?? Number.POSITIVE_INFINITY),
  inputs: SIZES,
  shapes: SHAPES,
  kept: listOf(z.object({ input: INT, at: SIZE, key: INT, begin: SIZE, end: SIZE })).optional(),
  keep: listOf(INT).optional(),
}) as unknown as z.ZodType<ActionMessage>;

const RESULT = z.object({
  id: INT,
  gpu: INT,
  status: INT,
  beginNs: NS,
  endNs: NS,
  copyInNs: NS,
  copyOutNs: NS,
  outputs: SIZES,
  shapes: SHAPES,
  error: WORDS,
  inputErrors: listOf(WORDS).optional(),
  kept: KEYS.optional(),
}) as unknown as z.ZodType<ResultMessage>;

const FETCHED = z.object({ key: INT, outputs: SIZES }) as unknown as z.ZodType<{
  readonly key: number;
  readonly outputs: readonly Uint8Array<ArrayBuffer>[];
}>;

/** A question of a controller, or an order, which is answered once it is carried out. */
const QUESTION = z.discriminatedUnion('what', [
  /** Drop waiting actions, wait for running ones, restart dead executors. Answer: a `WorkerState`. */
  z.object({ what: z.literal('quiesce') }),
  /** Answer: a `WireModelList`, with digests if `name` is not null. */
  z.object({ what: z.literal('listModels'), name: TEXT.nullable(), config: TEXT.optional() }),
  /** Another model is to be at the index, or none. Answer: the `ServedModel` as this worker runs it, or null: none. */
  z.object({ what: z.literal('changeModel'), index: MODEL_INDEX, reference: MODEL_REFERENCE.nullable() }),
]);
export type Question = z.infer<typeof QUESTION>;

/** Largest term of a lease: no worker can claim one that leaves no other. */
export const MOST_TERM = 2 ** 52;
const TERM = INT.nonnegative().max(MOST_TERM);

const CONTROLLER_MESSAGE = z.discriminatedUnion('body', [
  /** Asks for the lease. */
  z.object({ body: z.literal('take'), term: TERM.positive() }),
  /** The driver goes on until another controller asks for the lease, and then lets that have it. */
  z.object({ body: z.literal('yield') }),
  /** Time of the controller's clock, returned unchanged. */
  z.object({ body: z.literal('ping'), sentNs: NS }),
  z.object({ body: z.literal('actions'), actions: listOf(ACTION) }),
  /** Asks for tensors that the worker keeps. */
  z.object({ body: z.literal('fetch'), keys: KEYS }),
  /** No action needs these kept tensors any more. */
  z.object({ body: z.literal('forget'), keys: KEYS }),
  z.object({ body: z.literal('ask'), id: INT, question: QUESTION }),
  z.object({ body: z.literal('bye') }),
]);
export type ControllerMessage = z.infer<typeof CONTROLLER_MESSAGE>;

/** Term of the driver, or of the last one while there is none; 0: there never was one. Its name; empty: none. */
const LEASE = { term: TERM, controller: TEXT, yields: z.boolean().optional() };

const TEXTS = listOf(WORDS);
const ENSEMBLE_TENSORS = listOf(
  z.object({ name: TEXT, datatype: DATATYPE, shape: listOf(z.int().min(FREE)) }),
);
const TENSOR_NAMES = z.record(TEXT, TEXT);
const ENSEMBLE = z.object({
  name: TEXT,
  sloNs: INT.positive().nullable(),
  steps: listOf(
    z.object({ model: TEXT, version: TEXT.nullable(), inputs: TENSOR_NAMES, outputs: TENSOR_NAMES }),
  ),
  inputs: ENSEMBLE_TENSORS,
  outputs: ENSEMBLE_TENSORS,
  maxBatch: INT.nonnegative(),
});
/** A list of models without paths: those are for the worker's own log. */
const MODEL_LIST = z.object({
  versions: listOf(
    MODEL_REFERENCE.extend({
      isMeasured: z.boolean(),
      isProvisional: z.boolean().optional(),
      standsIn: z.boolean().optional(),
    }),
  ),
  problems: listOf(z.object({ name: TEXT, version: TEXT.nullable(), what: WORDS })),
  // Absent: workers of a former version have none.
  ensembles: listOf(ENSEMBLE).default([]),
  skipped: TEXTS,
  notes: TEXTS,
});
type WireModelList = z.infer<typeof MODEL_LIST>;

/** Possible values of answers; their questions say which is expected. */
const ANSWER = z.union([STATE, MODEL_LIST, SERVED_MODEL, z.null()]);
export type Answer = z.infer<typeof ANSWER>;

const WORKER_MESSAGE = z.discriminatedUnion('body', [
  z.object({ body: z.literal('welcome'), description: DESCRIPTION, maxMessageBytes: INT.positive() }),
  z.object({ body: z.literal('lease'), ...LEASE }),
  z.object({ body: z.literal('pong'), sentNs: NS, workerNs: NS }),
  z.object({ body: z.literal('results'), results: listOf(RESULT) }),
  /** Kept tensors, one each. */
  z.object({ body: z.literal('fetched'), results: listOf(FETCHED) }),
  /** Nothing sent to that GPU is answered any more, until the worker has quiesced. */
  z.object({ body: z.literal('gpuDown'), gpu: INT.nonnegative(), reason: WORDS }),
  /** Answer to the question `id`. `error`: why there is no value; empty: there is. */
  z.object({ body: z.literal('answer'), id: INT, value: ANSWER, error: WORDS }),
]);
export type WorkerMessage = z.infer<typeof WORKER_MESSAGE>;
export type Welcome = Extract<WorkerMessage, { readonly body: 'welcome' }>;

/** Driver of a worker. */
export interface LeaseState {
  readonly term: number;
  readonly controller: string;
  /** True if it leaves the lease to any that asks. Absent: it does not. */
  readonly yields?: boolean | undefined;
}

/** True if `one` may take a lease from its driver `other`: by the higher term, or the later name on a tie. */
export function outranks(one: LeaseState, other: LeaseState): boolean {
  if (one.term !== other.term) return one.term > other.term;
  return one.controller > other.controller;
}

export function modelListToWire({ problems, ...list }: ModelList): WireModelList {
  return {
    ...list,
    problems: problems.map(({ name, version, error: { what } }) => ({ name, version, what })),
  };
}

export function modelListFromWire(value: Answer): ModelList {
  const { problems, ...list } = checked(MODEL_LIST, value);
  const failed = problems.map(({ name, version, what }) => ({
    name,
    version,
    error: new EscapementError('E_MODEL_FILE', what),
  }));
  return { ...list, problems: failed } as ModelList;
}

export const CONTROLLER_MESSAGES = new Messages<ControllerMessage>(
  CONTROLLER_MESSAGE,
  SMALL,
  'actions',
  'inputs',
);
export const WORKER_MESSAGES = new Messages<WorkerMessage>(WORKER_MESSAGE, LARGE, 'results', 'outputs');

export const WORKER_SERVICE = {
  Drive: streamMethod('/escapement.worker.v1.Worker/Drive', CONTROLLER_MESSAGES, WORKER_MESSAGES),
} satisfies ServiceDefinition;

const REGISTRATION_MESSAGE = z.discriminatedUnion('body', [
  /**
   * The worker serves at `address`; empty: at `port` of the host that the stream comes from. `instance` names its
   * process, as its welcome does.
   */
  z.object({
    body: z.literal('register'),
    address: TEXT,
    port: INT.min(0).max(65_535),
    instance: z.string().regex(/^[A-Za-z0-9-]{1,64}$/),
  }),
  /** True if it is about to shut down. */
  z.object({ body: z.literal('leave') }),
]);
export type RegistrationMessage = z.infer<typeof REGISTRATION_MESSAGE>;
export type WireRegistration = Omit<Extract<RegistrationMessage, { readonly body: 'register' }>, 'body'>;

/** `joined`: its GPUs are used, by this controller or another. `problem`: why not, for people; empty: none known. */
const REGISTERED = z.object({ leaseMs: INT.positive(), joined: z.boolean(), problem: WORDS });
export type WireLease = z.infer<typeof REGISTERED>;

/** Largest message of either side of a registration. */
export const MAX_REGISTRATION_BYTES = 16 * 1024;
/** Interval at which a worker renews its lease. */
export const RENEWAL_MS = 1000;

export const REGISTRATION_MESSAGES = new Messages<RegistrationMessage>(REGISTRATION_MESSAGE, SMALL);
export const LEASE_MESSAGES = new Messages<WireLease>(REGISTERED, SMALL);

export const REGISTRATION_SERVICE = {
  Register: streamMethod(
    '/escapement.registration.v1.Controller/Register',
    REGISTRATION_MESSAGES,
    LEASE_MESSAGES,
  ),
} satisfies ServiceDefinition;
