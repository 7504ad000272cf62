import { existsSync, readFileSync, rmSync } from 'node:fs';
import { isMap, parseDocument } from 'yaml';
import * as z from 'zod';
import { type ErrorCode, EscapementError } from '../../base/errors.js';
import { isFile } from '../../base/files/is-file.js';
import { writeWhole } from '../../base/files/output-file.js';
import { readYaml } from '../../base/files/yaml-text.js';
import { TYPE_NAMES } from '../../base/type-names.js';
import { NS_PER_MS, NS_PER_S, NS_PER_US } from '../../base/units.js';
import { MOST_LENGTHS } from '../../core/model.js';
import type { BatchSetting, Dimensions } from '../ort/signature.js';
import type { SampleSetting, Warmup } from './samples.js';

const duration = z
  .string({
    error: ({ input }) =>
      typeof input === 'number'
        ? `${input} has no unit: write a duration such as ${input}ms`
        : 'must be a duration such as 50ms',
  })
  .regex(/^\d+(\.\d+)?(us|ms|s)$/, 'must be a duration such as 50ms')
  .transform((text) => Math.round(Number.parseFloat(text) * NS_PER[/(?:us|ms|s)$/.exec(text)![0]]))
  .refine((ns) => ns > 0, 'must be longer than 0');

/** Larger ones would waste memory; a running controller accepts no larger ones. */
export const LARGEST_BATCH = 1024;

/** Longer ones would waste memory. */
const LONGEST_INPUT = 1_048_576;

const batchSizes = z
  .array(z.int().min(1).max(LARGEST_BATCH, `must be at most ${LARGEST_BATCH}`))
  .refine(
    (sizes) => sizes.length > 0 && sizes.every((size, i) => (i === 0 ? size === 1 : size > sizes[i - 1])),
    {
      message: 'must start with 1 and ascend, such as [1, 2, 4, 8]',
    },
  );

const versions = z
  .union(
    [z.enum(['latest', 'all']), z.strictObject({ latest: z.int().min(1) }), z.array(z.int().min(0)).min(1)],
    { error: 'must be latest, all, { latest: N } or a list of versions such as [1, 3]' },
  )
  .transform((given): VersionPolicy => {
    if (given === 'all') return { kind: 'all' };
    if (given === 'latest') return LATEST;
    return Array.isArray(given)
      ? { kind: 'specific', versions: given }
      : { kind: 'latest', count: given.latest };
  });

const buckets = z
  .array(z.int().min(1).max(LONGEST_INPUT, `must be at most ${LONGEST_INPUT}`))
  .refine(
    (lengths) =>
      lengths.length > 0 &&
      lengths.length <= MOST_LENGTHS &&
      lengths.every((length, i) => i === 0 || length > lengths[i - 1]),
    { message: `must be 1 to ${MOST_LENGTHS} lengths that ascend, such as [32, 64, 128]` },
  );

const fill = z.record(
  z.string(),
  z.union([z.number(), z.boolean()], { error: 'must be a number, or true or false' }),
);

const samples = z.union(
  [
    z.string().regex(/\.json$/),
    z.record(
      z.string(),
      z.tuple([z.number(), z.number()]).refine(([least, most]) => least <= most),
    ),
  ],
  {
    error: 'must be a file .json, or by input the least and the largest value, such as { iou: [0, 1] }',
  },
);

const schema = z.strictObject({
  versions: versions.exactOptional(),
  labels: z.record(z.string(), z.string().min(1)).default({}),
  batchSizes: batchSizes.exactOptional(),
  batch: z.enum(['none', 'rows'], { error: 'must be none or rows' }).exactOptional(),
  slo: duration.exactOptional(),
  dimensions: z.record(z.string(), z.int().min(1)).default({}),
  buckets: buckets.exactOptional(),
  fill: fill.exactOptional(),
  samples: samples.exactOptional(),
});

/** Policy for which versions of a model are served. */
export type VersionPolicy =
  | { readonly kind: 'all' }
  | { readonly kind: 'latest'; readonly count: number }
  | { readonly kind: 'specific'; readonly versions: readonly number[] };

/** Default batch sizes of a model that takes batches. */
export const DEFAULT_BATCH_SIZES: readonly number[] = [1, 2, 4, 8];

const LATEST: VersionPolicy = { kind: 'latest', count: 1 };

/** An operator's settings of one model, in its `config.yaml`. */
export interface ModelSettings {
  /** Undefined: not given, so the latest. */
  readonly versions?: VersionPolicy;
  /** Name of the model in the folder of a version. Undefined: not given, so `model.onnx`. Only in `config.pbtxt`. */
  readonly modelFile?: string;
  /** Files with the names of an output's classes, one per line, by the output; relative to the model's folder. */
  readonly labels: Readonly<Record<string, string>>;
  /** Undefined: not given. */
  readonly batchSizes?: readonly number[];
  /** Used if the model takes batches and `batchSizes` is not given. */
  readonly suggestedSizes?: readonly number[];
  /** Meaning of the first dimension. Undefined: not given, so it is a batch if a check confirms that. */
  readonly batch?: BatchSetting;
  /** Default SLO of its requests. Undefined: not given. */
  readonly slo?: number;
  /** Sizes of the model's symbolic dimensions other than the batch, by their names. */
  readonly dimensions: Dimensions;
  /** Lengths of inputs, if one dimension is left without a size. Undefined: not given. */
  readonly buckets?: readonly number[];
  /** By input: value that shorter ones are padded with. Undefined: they are not. */
  readonly fill?: Readonly<Record<string, number | boolean>>;
  /** Inputs for measuring. Undefined: chosen. */
  readonly samples?: SampleSetting;
  /** Used if `samples` is not given. Only in `config.pbtxt`. */
  readonly warmups?: readonly Warmup[];
}

const NO_SETTINGS: ModelSettings = { dimensions: {}, labels: {} };

/** Reads a model's settings; empty without such a file. Throws `E_CONFIG_…` with file, line and key. */
export function readSettings(path: string): ModelSettings {
  if (!existsSync(path)) return NO_SETTINGS;
  // Reading a pipe would wait for its writer.
  if (!isFile(path)) throw new EscapementError('E_CONFIG_VALUE', 'is not a file', { file: path });
  const { document, lines, value } = readYaml(
    readFileSync(path, 'utf8'),
    (what, line) =>
      new EscapementError('E_CONFIG_SYNTAX', what, { file: path, ...(line === undefined ? {} : { line }) }),
  );
  const fail = (code: ErrorCode, what: string, offset: number, key?: string): never => {
    const { line } = lines.linePos(offset);
    throw new EscapementError(code, what, { file: path, line, ...(key === undefined ? {} : { key }) });
  };
  if (document.contents === null) return NO_SETTINGS;
  if (!isMap(document.contents)) fail('E_CONFIG_SYNTAX', 'must be a section of "key: value" lines', 0);
  const result = schema.safeParse(value, { error: describeIssue });
  if (result.success) return result.data;
  const issue = result.error.issues[0];
  const unknown = issue.code === 'unrecognized_keys';
  const keys = (unknown ? [...issue.path, issue.keys[0]] : issue.path) as (string | number)[];
  const what = unknown ? `unknown key; known: ${Object.keys(schema.shape).join(', ')}` : issue.message;
  const node = document.getIn(keys, true) as { range?: readonly [number, number, number] } | undefined;
  return fail(unknown ? 'E_CONFIG_KEY' : 'E_CONFIG_VALUE', what, node?.range?.[0] ?? 0, keys.join('.'));
}

/**
 * Writes lengths that inputs are padded to into a model's settings and, if these have none, values to pad with. Returns
 * what undoes it. Throws like `readSettings`, and `E_FILE_WRITE`.
 */
export function writePadding(
  path: string,
  buckets: readonly number[],
  fill: NonNullable<ModelSettings['fill']>,
): () => void {
  const { fill: own } = readSettings(path);
  const before = existsSync(path) ? readFileSync(path, 'utf8') : null;
  const document = parseDocument(before ?? '');
  const put = (key: string, value: unknown) => document.set(key, document.createNode(value, { flow: true }));
  put('buckets', buckets);
  if (own === undefined) put('fill', fill);
  writeWhole(path, document.toString({ lineWidth: 0 }));
  return () => (before === null ? rmSync(path) : writeWhole(path, before));
}

/** Message for a value whose key does not explain it; undefined: the library's. */
function describeIssue(issue: z.core.$ZodRawIssue): string | undefined {
  if (issue.code === 'invalid_type') {
    const found = issue.input === null ? 'nothing' : JSON.stringify(issue.input);
    return `must be ${TYPE_NAMES[issue.expected] ?? issue.expected}, found ${found}`;
  }
  if (issue.code === 'too_small')
    return issue.origin === 'number' ? `must be at least ${issue.minimum}` : 'must not be empty';
  return undefined;
}

const NS_PER: Readonly<Record<string, number>> = { us: NS_PER_US, ms: NS_PER_MS, s: NS_PER_S };
