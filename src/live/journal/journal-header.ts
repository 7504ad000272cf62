import * as z from 'zod';
import { EscapementError } from '../../base/errors.js';
import { ADMISSIONS, type Admission } from '../../core/admission.js';
import { MOST_CLASSES, type RequestClass } from '../../core/classes.js';
import type { GpuKind } from '../../core/cluster-spec.js';
import { PADDINGS, type Padding } from '../../core/lengths.js';
import type { ModelSpec } from '../../core/model.js';
import { MISSED_WINDOWS, type MissedWindow } from '../../core/retry.js';
import { MOST_TENANTS, type Tenant } from '../../core/tenants.js';

/** Everything that a controller is made from: the first line of a journal. */
export interface JournalHeader {
  readonly models: readonly ModelSpec[];
  /** Slots for models added later, and their largest batch. */
  readonly spareModels: number;
  readonly spareBatch: number;
  readonly gpus: number;
  /** Numbers for GPUs that come later. */
  readonly spareGpus: number;
  /** Pages of each GPU's weights cache. */
  readonly pages: number;
  /** Kinds of GPUs, if there are several: pages of each one's GPUs. */
  readonly kinds?: readonly GpuKind[];
  readonly oneLane: boolean;
  /** Default: `batch`. */
  readonly padding?: Padding;
  /** Values of options by name, durations in ns; `auto`: tuned at run time. */
  readonly policy: {
    readonly kind: string;
    readonly options: Readonly<Record<string, number | 'auto' | undefined>>;
    /** Module that it came from, with its digest; absent: built in. */
    readonly plugin?: { readonly file: string; readonly digest: string };
  };
  readonly defaultSloNs: number;
  readonly admission: Admission;
  readonly missedWindow: MissedWindow;
  /** Classes of requests; absent: none. */
  readonly classes?: readonly RequestClass[];
  /** Tenants, with their limits; absent: none. */
  readonly tenants?: readonly Tenant[];
}

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
  inputBytes: count,
  outputBytes: count,
});
const HEADER = z.object({
  models: z.array(MODEL),
  // A controller's state grows with them.
  spareModels: count.max(100_000),
  spareBatch: count.min(1).max(65_536),
  gpus: count,
  spareGpus: count.max(100_000),
  pages: count,
  kinds: z
    .array(z.object({ gpus: count, pages: count }))
    .min(2)
    .max(MOST_KINDS)
    .exactOptional(),
  oneLane: z.boolean(),
  padding: z.enum(PADDINGS).exactOptional(),
  policy: z.object({
    kind: z.string(),
    options: z.record(z.string(), z.union([z.number(), z.literal('auto')])),
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
  const parsed = HEADER.safeParse(value);
  if (parsed.success) return parsed.data;
  const [{ path, message }] = parsed.error.issues as [z.core.$ZodIssue];
  throw new EscapementError('E_JOURNAL', `header: ${path.join('.')}: ${message}`);
}

/** Parses a model added later. Throws `E_JOURNAL`. */
export function parseModel(text: string): ModelSpec {
  const parsed = MODEL.safeParse(parseJson(text));
  if (parsed.success) return parsed.data;
  const [{ path, message }] = parsed.error.issues as [z.core.$ZodIssue];
  throw new EscapementError('E_JOURNAL', `model: ${path.join('.')}: ${message}`);
}

function parseJson(line: string): { readonly format?: unknown; readonly version?: unknown } | null {
  try {
    return JSON.parse(line);
  } catch {
    return null;
  }
}
