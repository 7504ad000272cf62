import * as z from 'zod';
import { AUTO, type PolicyEntry, type PolicyOption, type PolicyOptions } from '../policies/entry.js';
import { POLICIES } from '../policies/registry.js';
import { duration, durationOrAuto, section } from './fields.js';
import { formatDuration } from './units-text.js';

/** A policy by kind with the options of its entry in the table POLICIES. */
export interface PolicyChoice {
  readonly kind: string;
  readonly options: PolicyOptions;
}

type KindSchema = z.core.$ZodTypeDiscriminable & z.ZodType<PolicyChoice>;

const DEFAULT_KIND = 'clockwork';

export const policySchema = z
  .preprocess(
    // Options of the default policy may be given without naming it.
    (value) => (isSection(value) && !Object.hasOwn(value, 'kind') ? { kind: DEFAULT_KIND, ...value } : value),
    z.discriminatedUnion('kind', POLICIES.map(entrySchema) as [KindSchema, ...KindSchema[]]),
  )
  .prefault({ kind: DEFAULT_KIND })
  .describe('The scheduler and its options.');

function isSection(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function entrySchema(entry: PolicyEntry): KindSchema {
  const options = Object.entries(entry.options).map(([name, option]) => [name, optionSchema(option)]);
  const shape = { kind: z.literal(entry.kind), ...(Object.fromEntries(options) as z.ZodRawShape) };
  return section(shape, (key) => optionOfAnother(key, entry))
    .describe(entry.summary)
    .transform(({ kind, ...given }) => ({ kind, options: given as PolicyOptions })) as unknown as KindSchema;
}

/** What to say of an option that only another policy has; undefined for one that none has. */
function optionOfAnother(key: string, { kind }: PolicyEntry): string | undefined {
  const owners = POLICIES.filter(({ options }) => Object.hasOwn(options, key)).map((owner) => owner.kind);
  if (owners.length === 0) return undefined;
  return (
    `${kind} has no ${key}, an option of ${owners.join(' and ')}: remove it; ` +
    `policy.kind=${kind} given by --set or --vary drops what the file has of it`
  );
}

function optionSchema(option: PolicyOption): z.ZodType {
  if (option.type === 'duration') return durationSchema(option);
  const field = (option.type === 'integer' ? z.int() : z.number()).min(option.min);
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
