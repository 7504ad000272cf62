import * as z from 'zod';
import {
  AUTO,
  type Plugin,
  type PolicyEntry,
  type PolicyOption,
  type PolicyOptions,
} from '../policies/entry.js';
import { POLICIES } from '../policies/registry.js';
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
  const entries = known.map(({ entry }) => entry);
  return z
    .preprocess(
      // Options of the default policy may be given without naming it.
      (value) =>
        isSection(value) && !Object.hasOwn(value, 'kind') ? { kind: DEFAULT_KIND, ...value } : value,
      z.discriminatedUnion(
        'kind',
        known.map((one) => entrySchema(one, entries)) as [KindSchema, ...KindSchema[]],
      ),
    )
    .prefault({ kind: DEFAULT_KIND })
    .describe('The scheduler and its options.');
}

function isSection(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

interface KnownPolicy {
  readonly entry: PolicyEntry;
  readonly plugin?: Plugin;
}

function entrySchema({ entry, plugin }: KnownPolicy, all: readonly PolicyEntry[]): KindSchema {
  const options = Object.entries(entry.options).map(([name, option]) => [name, optionSchema(option)]);
  const shape = { kind: z.literal(entry.kind), ...(Object.fromEntries(options) as z.ZodRawShape) };
  return section(shape, (key) => optionOfAnother(key, entry, all))
    .describe(entry.summary)
    .transform(({ kind, ...given }) => ({
      kind,
      options: given as PolicyOptions,
      ...(plugin === undefined ? {} : { plugin }),
    })) as unknown as KindSchema;
}

/** What to say of an option that only another policy has; undefined for one that none has. */
function optionOfAnother(
  key: string,
  { kind }: PolicyEntry,
  all: readonly PolicyEntry[],
): string | undefined {
  const owners = all.filter(({ options }) => Object.hasOwn(options, key)).map((owner) => owner.kind);
  if (owners.length === 0) return undefined;
  return (
    `${kind}${kind === DEFAULT_KIND ? ', the default policy,' : ''} has no ${key}, an option of ${owners.join(' and ')}: ` +
    `remove it or choose policy.kind=${owners[0]}; ` +
    `to keep it in the file for other policies, choose this one with --set or --vary policy.kind=${kind}`
  );
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
