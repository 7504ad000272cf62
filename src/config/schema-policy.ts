import * as z from 'zod';
import {
  AUTO,
  type Plugin,
  type PolicyEntry,
  type PolicyOption,
  type PolicyOptions,
} from '../policies/entry.js';
import { POLICIES } from '../policies/registry.js';
import type { ScalerEntry } from '../scalers/entry.js';
import { SCALERS } from '../scalers/registry.js';
import { isSection } from './document.js';
import { duration, durationOrAuto, section } from './fields.js';
import { formatDuration } from './units-text.js';

/** A policy by kind, with the options of its entry. */
export interface PolicyChoice {
  readonly kind: string;
  readonly options: PolicyOptions;
  /** Its plugin; absent if built in. */
  readonly plugin?: Plugin;
}

type KindSchema = z.core.$ZodTypeDiscriminable & z.ZodType<PolicyChoice>;

const DEFAULT_KIND = 'escapement';

/** Section of the policy, built in or from a plugin. */
export function policySchemaWith(plugins: readonly Plugin[]) {
  const known = [
    ...POLICIES.map((entry) => ({ entry })),
    ...plugins.flatMap((plugin) => plugin.policies.map((entry) => ({ entry, plugin }))),
  ];
  return z
    .preprocess(
      // Options of the default policy may be given without naming it.
      (value) =>
        isSection(value) && !Object.hasOwn(value, 'kind') ? { kind: DEFAULT_KIND, ...value } : value,
      z.discriminatedUnion('kind', known.map(entrySchema) as [KindSchema, ...KindSchema[]]),
    )
    .prefault({ kind: DEFAULT_KIND })
    .describe('The scheduler and its options.');
}

interface KnownPolicy {
  readonly entry: PolicyEntry;
  readonly plugin?: Plugin;
}

function entrySchema({ entry, plugin }: KnownPolicy): KindSchema {
  return optionSection(entry).transform(({ kind, ...given }) => ({
    kind: kind as string,
    options: given as PolicyOptions,
    ...(plugin === undefined ? {} : { plugin }),
  })) as unknown as KindSchema;
}

/** A section of a policy or scaler with its options. */
function optionSection({ kind, summary, options }: Named, more: z.ZodRawShape = {}) {
  const fields = Object.entries(options).map(([name, option]) => [name, optionSchema(option)]);
  const shape: z.ZodRawShape = { kind: z.literal(kind), ...more, ...Object.fromEntries(fields) };
  return section(shape).describe(summary);
}

type Named = Pick<PolicyEntry, 'kind' | 'summary' | 'options'>;

/** Field of one option of a policy or scaler. */
function optionSchema(option: PolicyOption): z.ZodType {
  if (option.type === 'duration') return durationSchema(option);
  const least = (option.type === 'integer' ? z.int() : z.number()).min(option.min);
  const field = option.max === undefined ? least : least.max(option.max);
  return (
    option.default === undefined ? field.exactOptional() : field.default(option.default as number)
  ).describe(option.describe);
}

function durationSchema(option: PolicyOption): z.ZodType {
  const about = option.auto === undefined ? option.describe : `${option.describe}; auto: ${option.auto}`;
  const field = option.auto === undefined ? duration(about, option.min) : durationOrAuto(about, option.min);
  if (option.default === undefined) return field.exactOptional();
  return field.prefault(option.default === AUTO ? AUTO : formatDuration(option.default));
}

/** A scaler by kind, with the options of its entry. */
export interface ScalerChoice {
  /** `none`: the number of GPUs is fixed. */
  readonly kind: string;
  /** Time between two decisions. */
  readonly intervalNs: number;
  readonly options: PolicyOptions;
}

const NONE = 'none';
const interval = duration('Time between two decisions.', 1).prefault('10s');

type ScalerSchema = z.core.$ZodTypeDiscriminable & z.ZodType<ScalerChoice>;

export const scalerSchema = z
  .discriminatedUnion(
    'kind',
    [{ kind: NONE, summary: 'The number of GPUs stays as it is.', options: {} }, ...SCALERS].map((entry) =>
      optionSection(entry, { interval }).transform(chosen),
    ) as unknown as [ScalerSchema, ...ScalerSchema[]],
  )
  .prefault({ kind: NONE })
  .describe('Scaler that decides the number of GPUs, between min and max of each kind in cluster.gpus.');

/** Scaler of that kind; null for `none`. */
export function scalerEntryOf({ kind }: ScalerChoice): ScalerEntry | null {
  return SCALERS.find((entry) => entry.kind === kind) ?? null;
}

function chosen({ kind, interval: intervalNs, ...options }: Record<string, unknown>): ScalerChoice {
  return { kind: kind as string, intervalNs: intervalNs as number, options: options as PolicyOptions };
}
