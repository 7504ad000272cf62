import * as z from 'zod';
import { POLICIES, type PolicyEntry, type PolicyOption, type PolicyOptions } from '../policies/registry.js';
import { duration, section } from './fields.js';
import { formatDuration } from './units-text.js';

/** A policy by kind with the options of its entry in the table POLICIES. */
export interface PolicyChoice {
  readonly kind: string;
  readonly options: PolicyOptions;
}

type KindSchema = z.core.$ZodTypeDiscriminable & z.ZodType<PolicyChoice>;

export const policySchema = z
  .discriminatedUnion('kind', POLICIES.map(entrySchema) as [KindSchema, ...KindSchema[]])
  .prefault({ kind: 'clockwork' })
  .describe('The scheduler and its options.');

function entrySchema(entry: PolicyEntry): KindSchema {
  const options = Object.entries(entry.options).map(([name, option]) => [name, optionSchema(option)]);
  return section({ kind: z.literal(entry.kind), ...(Object.fromEntries(options) as z.ZodRawShape) })
    .describe(entry.summary)
    .transform(({ kind, ...given }) => ({ kind, options: given as PolicyOptions })) as unknown as KindSchema;
}

function optionSchema(option: PolicyOption): z.ZodType {
  if (option.type === 'duration') {
    const field = duration(option.describe, option.min);
    return option.default === undefined
      ? field.exactOptional()
      : field.prefault(formatDuration(option.default));
  }
  const field = z.int().min(option.min);
  return (option.default === undefined ? field.exactOptional() : field.default(option.default)).describe(
    option.describe,
  );
}
