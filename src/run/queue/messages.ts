import { isDeepStrictEqual } from 'node:util';
import * as z from 'zod';
import { MIB } from '../../base/units.js';
import { platformText } from '../sweep/cell-key.js';
import { RESULT_SCHEMAS } from '../sweep/units.js';

/** Raised whenever sweeps and workers of two versions are incompatible. */
const PROTOCOL = 5;

/** Prefix of all keys in the server: a user of the server needs access to these alone. */
const PREFIX = 'escapement';

/** Version and platform of this process: they must be equal to share a queue, or results would differ. */
export function kindText(version: string): string {
  return `escapement ${version} on ${platformText()}`;
}

export function queueName(version: string): string {
  return `cells-${version}-p${PROTOCOL}-${platformText().replaceAll(/[^\w.]+/g, '-')}`;
}

/** BullMQ's options for the server: keys and versions are ours to check. */
export const BULLMQ = { prefix: PREFIX, skipVersionCheck: true } as const;

/** Lifetime in the server of anything no longer renewed or fetched. */
export const KEPT_S = 3600;

/** Lifetime of the mark of a sweep after its last renewal, which is much more frequent. */
export const MARK_MS = 20_000;

/** Keys outside the queue itself. */
export const KEYS = {
  /** Mark of a sweep, as long as it is there. */
  sweep: (id: string) => `${PREFIX}:sweep:${id}`,
  file: (sha256: string) => `${PREFIX}:file:${sha256}`,
} as const;

/** Limit for one file in the server. */
export const MOST_FILE_BYTES = 256 * MIB;

/** Limit for all files that an order makes a worker fetch, together. */
const MOST_ORDER_BYTES = 1024 * MIB;
/** All texts of an order together. */
const MOST_ORDER_TEXT = 16 * MIB;

const name = z.string().max(4096);
const sha256 = z.string().regex(/^[0-9a-f]{64}$/);
const blobSchema = z.strictObject({
  sha256,
  bytes: z.int().nonnegative().max(MOST_FILE_BYTES),
});

/** Limit on the message of a failed cell, in characters. */
export const LONGEST_MESSAGE = 100_000;
/** Limit on the result of a cell, in characters. */
export const LONGEST_RESULT = 16 * MIB;

/** A file identified by its content. */
export type Blob = Readonly<z.output<typeof blobSchema>>;

/**
 * A cell to run, as stored in the queue: all that a job may contain. Paths are only names. Files are parsed, never
 * imported; a plugin is a digest, which the worker looks up among the files that it was started with.
 */
const orderFields = z.strictObject({
  sweep: z.uuid(),
  job: z.enum(['runCell', 'boundCell']),
  name,
  text: blobSchema,
  file: name,
  overrides: z.array(z.string().max(1 << 20)).max(10_000),
  metrics: z.array(z.string().max(1000)).max(1000),
  plugin: name.exactOptional(),
  files: z.array(z.strictObject({ path: name, blob: blobSchema })).max(10_000),
  plugins: z.array(z.strictObject({ path: name, sha256 })).max(100),
});

export const orderSchema = orderFields
  .refine(
    ({ text, files }) => files.reduce((sum, { blob }) => sum + blob.bytes, text.bytes) <= MOST_ORDER_BYTES,
    `its files have more than ${MOST_ORDER_BYTES / MIB} MiB`,
  )
  .refine(
    ({ overrides }) => overrides.reduce((sum, one) => sum + one.length, 0) <= MOST_ORDER_TEXT,
    `its overrides have more than ${MOST_ORDER_TEXT / MIB} MiB`,
  );
export type Order = z.output<typeof orderSchema>;

/** Name of a process for people: plain text. */
const processName = z.string().regex(/^[\x20-\x7e]{1,200}$/);
const threads = z.int().nonnegative().max(100_000);

/** Result of a worker. */
const answerSchema = z.strictObject({
  worker: z.strictObject({ name: processName, threads }),
  ranMs: z.number().nonnegative(),
  outcome: z.discriminatedUnion('status', [
    z.strictObject({ status: z.literal('done'), json: z.string().max(LONGEST_RESULT) }),
    z.strictObject({
      status: z.literal('failed'),
      code: z.string().regex(/^(E_[A-Z_]+|BUG)$/),
      message: z.string().max(LONGEST_MESSAGE),
    }),
  ]),
});
export type Answer = z.output<typeof answerSchema>;

/** Answer for a job; null if it is malformed, or its result does not fit this kind of job. */
export function answerOf(value: unknown, job: Order['job']): Answer | null {
  const { data: answer } = answerSchema.safeParse(value);
  if (answer === undefined) return null;
  const isGood = answer.outcome.status === 'failed' || isResult(answer.outcome.json, job);
  return isGood ? answer : null;
}

/** True if a text is a result and contains nothing else: it is stored unchanged. */
function isResult(text: string, job: Order['job']): boolean {
  try {
    const value = JSON.parse(text);
    return isDeepStrictEqual(RESULT_SCHEMAS[job].parse(value), value);
  } catch {
    return false;
  }
}
