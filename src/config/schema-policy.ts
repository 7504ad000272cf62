import * as z from 'zod';
import {
  AUTO,
  type Plugin,
  type PolicyEntry,
  type PolicyOption,
  type PolicyOptions,
} from '../policies/entry.js';
import { POLICIES } from '../policies/registry.js';
import { isSection } from './document.js';
import { duration, durationOrAuto, section } from './fields.js';
import { formatDuration } from './units-text.js';

/** A policy by kind, with the options of its entry. */
export interface PolicyChoice {
  readonly kind: string;
  readonly options: PolicyOptions;
  /** Where it comes from; absent: it is built in. */
  readonly plugin?: Plugin;
}

type KindSchema = z.core.$ZodTypeDiscriminable & z.ZodType<PolicyChoice>;

const DEFAULT_KIND = 'escapement';

/** The section of the policy, which is built in or comes from a plugin. */
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
  const options = Object.entries(entry.options).map(([name, option]) => [name, optionSchema(option)]);
  const shape = { kind: z.literal(entry.kind), ...(Object.fromEntries(options) as z.ZodRawShape) };
  return section(shape)
    .describe(entry.summary)
    .transform(({ kind, ...given }) => ({
      kind,
      options: given as PolicyOptions,
      ...(plugin === undefined ? {} : { plugin }),
    })) as unknown as KindSchema;
}

/** The field of one option of a policy or scaler. */
export function optionSchema(option: PolicyOption): z.ZodType {
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
