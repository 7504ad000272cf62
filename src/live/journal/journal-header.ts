import * as z from 'zod';
import { EscapementError } from '../../base/errors.js';
import type { Immutable } from '../../base/immutable.js';
import { ADMISSIONS } from '../../core/admission.js';
import { MOST_CLASSES } from '../../core/classes.js';
import { PADDINGS } from '../../core/lengths.js';
import type { ModelSpec } from '../../core/model.js';
import { type PipelineSpec, SPLITS } from '../../core/pipelines.js';
import { MISSED_WINDOWS } from '../../core/retry.js';
import { MOST_TENANTS } from '../../core/tenants.js';

const FORMAT = 'escapement-journal';
const VERSION = 5;

/** Limit of the byte in which controllers store a GPU's kind. */
const MOST_KINDS = 256;

const count = z.int().nonnegative();
const TIMES = {
  loadNs: count,
  execNs: z.array(count),
  execNsByLength: z.array(z.array(count)).exactOptional(),
};
const MODEL = z.object({
  name: z.string(),
  weightsBytes: count,
  pages: count,
  batchSizes: z.array(count),
  ...TIMES,
  lengths: z.array(count).exactOptional(),
  equalLengths: z.boolean().exactOptional(),
  otherKinds: z.array(z.object(TIMES)).exactOptional(),
  notOn: z.array(count).exactOptional(),
  inputBytes: count,
  outputBytes: count,
});
const PIPELINE = z.object({
  name: z.string(),
  split: z.enum(SPLITS),
  steps: z.array(
    z.object({
      ...{ id: z.string(), model: count, after: z.array(count) },
      variants: z
        .array(z.object({ model: count, accuracy: z.number().positive() }))
        .min(1)
        .exactOptional(),
      ...{ least: count, mean: z.number().nonnegative(), budget: z.number().positive() },
    }),
  ),
});
const HEADER = z.object({
  models: z.array(MODEL),
  // Slots for models and GPUs that come later, and the largest batch of these models. A controller's state grows with
  // them.
  spareModels: count.max(100_000),
  spareBatch: count.min(1).max(65_536),
  gpus: count,
  spareGpus: count.max(100_000),
  /** Pages of each GPU's weights cache. */
  pages: count,
  /** Kinds of GPUs, if there are several. */
  kinds: z
    .array(z.object({ gpus: count, pages: count }))
    .min(2)
    .max(MOST_KINDS)
    .exactOptional(),
  oneLane: z.boolean(),
  padding: z.enum(PADDINGS).exactOptional(),
  policy: z.object({
    kind: z.string(),
    // Durations in ns; `auto`: tuned at run time.
    options: z.record(z.string(), z.union([z.number(), z.literal('auto')]).optional()),
    // Module that it came from; absent: built in.
    plugin: z.object({ file: z.string(), digest: z.string() }).exactOptional(),
  }),
  defaultSloNs: z.number().positive(),
  admission: z.enum(ADMISSIONS),
  missedWindow: z.enum(MISSED_WINDOWS),
  classes: z
    .array(z.object({ name: z.string(), weight: z.number().positive(), share: z.number().min(0).max(1) }))
    .min(1)
    .max(MOST_CLASSES)
    .exactOptional(),
  tenants: z
    .array(
      z.object({
        name: z.string(),
        // JSON has no Infinity.
        rateRps: z
          .number()
          .positive()
          .nullable()
          .transform((rate) => rate ?? Number.POSITIVE_INFINITY),
        burst: z.number().min(1),
        share: z.number().positive(),
      }),
    )
    .min(1)
    .max(MOST_TENANTS)
    .exactOptional(),
});

/** Everything that a controller is made from: the first line of a journal. */
export type JournalHeader = Immutable<z.output<typeof HEADER>>;

export function formatHeader(header: JournalHeader): string {
  const { kind, options, plugin } = header.policy;
  const from = plugin === undefined ? {} : { plugin: { file: plugin.file, digest: plugin.digest } };
  return JSON.stringify({ format: FORMAT, version: VERSION, ...header, policy: { kind, options, ...from } });
}

/** Throws `E_JOURNAL`. */
export function parseHeader(line: string): JournalHeader {
  const value = parseJson(line);
  if (value?.format !== FORMAT) throw new EscapementError('E_JOURNAL', 'is not a journal of escapement');
  if (value.version !== VERSION) {
    const what = `is a journal of version ${value.version}, and this escapement reads version ${VERSION}`;
    throw new EscapementError('E_JOURNAL', what);
  }
  return checked(HEADER, value, 'header');
}

/** Parses a model added later. Throws `E_JOURNAL`. */
export function parseModel(text: string): ModelSpec {
  return checked(MODEL, parseJson(text), 'model');
}

/** Leaves out what the core does not need. */
export function formatPipeline(spec: PipelineSpec): string {
  return JSON.stringify(PIPELINE.parse(spec));
}

/** Parses a pipeline. Throws `E_JOURNAL`. */
export function parsePipeline(text: string): PipelineSpec {
  return checked(PIPELINE, parseJson(text), 'pipeline');
}

function checked<T>(schema: z.ZodType<T>, value: unknown, what: string): T {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const [{ path, message }] = parsed.error.issues;
  throw new EscapementError('E_JOURNAL', `${what}: ${path.join('.')}: ${message}`);
}

function parseJson(line: string): { readonly format?: unknown; readonly version?: unknown } | null {
  try {
    return JSON.parse(line);
  } catch {
    return null;
  }
}
