import { existsSync, readFileSync } from 'node:fs';
import { isMap } from 'yaml';
import * as z from 'zod';
import { type ErrorCode, EscapementError } from '../../base/errors.js';
import { readYaml } from '../../base/files/yaml-text.js';
import { NS_PER_MS, NS_PER_S, NS_PER_US } from '../../base/units.js';
import type { BatchSetting, Dimensions } from '../ort/signature.js';

const duration = z
  .string()
  .regex(/^\d+(\.\d+)?(us|ms|s)$/, 'must be a duration such as 50ms')
  .transform((text) => Math.round(Number.parseFloat(text) * NS_PER[/[a-z]+$/.exec(text)![0]]))
  .refine((ns) => ns > 0, 'must be longer than 0');

const batchSizes = z
  .array(z.int().min(1))
  .refine(
    (sizes) => sizes.length > 0 && sizes.every((size, i) => (i === 0 ? size === 1 : size > sizes[i - 1])),
    {
      message: 'must start with 1 and ascend, such as [1, 2, 4, 8]',
    },
  );

const schema = z.strictObject({
  batchSizes: batchSizes.exactOptional(),
  batch: z.enum(['none', 'rows'], { error: 'must be none or rows' }).exactOptional(),
  slo: duration.exactOptional(),
  dimensions: z.record(z.string(), z.int().min(1)).default({}),
});

/** What an operator says of one model, in its `config.yaml`. */
export interface ModelSettings {
  /** Undefined: not said. */
  readonly batchSizes?: readonly number[];
  /** What the first dimension is. Undefined: not said, so it is a batch if a check shows that it is one. */
  readonly batch?: BatchSetting;
  /** SLO of requests that carry none of their own. Undefined: not said. */
  readonly slo?: number;
  /** Sizes of the model's symbolic dimensions other than the batch, by their names. */
  readonly dimensions: Dimensions;
}

/** Reads a model's settings; without such a file nothing is said. Throws `E_CONFIG_…` with file, line and key. */
export function readSettings(path: string): ModelSettings {
  if (!existsSync(path)) return { dimensions: {} };
  const { document, lines, value } = readYaml(
    readFileSync(path, 'utf8'),
    (what, line) =>
      new EscapementError('E_CONFIG_SYNTAX', what, { file: path, ...(line === undefined ? {} : { line }) }),
  );
  const fail = (code: ErrorCode, what: string, offset: number, key?: string): never => {
    const { line } = lines.linePos(offset);
    throw new EscapementError(code, what, { file: path, line, ...(key === undefined ? {} : { key }) });
  };
  if (document.contents === null) return { dimensions: {} };
  if (!isMap(document.contents)) fail('E_CONFIG_SYNTAX', 'must be a section of "key: value" lines', 0);
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const issue = result.error.issues[0];
  const unknown = issue.code === 'unrecognized_keys';
  const keys = (unknown ? [...issue.path, issue.keys[0]] : issue.path) as (string | number)[];
  const what = unknown ? `unknown key; known: ${Object.keys(schema.shape).join(', ')}` : issue.message;
  const node = document.getIn(keys, true) as { range?: readonly [number, number, number] } | undefined;
  return fail(unknown ? 'E_CONFIG_KEY' : 'E_CONFIG_VALUE', what, node?.range?.[0] ?? 0, keys.join('.'));
}

const NS_PER: Readonly<Record<string, number>> = { us: NS_PER_US, ms: NS_PER_MS, s: NS_PER_S };
