import * as z from 'zod';
import type { LengthSpec } from '../workload/spec.js';
import {
  choice,
  count,
  DERIVED_DEFAULT,
  duration,
  MISSING,
  oneOrMany,
  rate,
  refuse,
  refuseTwice,
  section,
  share,
  text,
  textField,
  textOrTexts,
  whole,
} from './fields.js';
import { show } from './units-text.js';

/** Limit of the request table. */
const MOST_LENGTH = 2 ** 31 - 1;

const inputLength = (about: string) => z.int().min(1).max(MOST_LENGTH).describe(about);
const values = z
  .array(z.int().min(1).max(MOST_LENGTH))
  .min(1)
  .max(100_000)
  .describe('Lengths, all equally likely; repeat one to make it likelier.');
/** Lengths of the inputs of a workload. */
const lengths = z
  .discriminatedUnion('kind', [
    section({ kind: z.literal('constant'), value: inputLength('Length of every input.') }),
    section({
      kind: z.literal('uniform'),
      from: inputLength('Shortest length.').default(1),
      to: inputLength('Longest length.'),
    }),
    section({
      kind: z.literal('lognormal'),
      median: inputLength('Median length.'),
      sigma: z.number().min(0).max(10).describe('Standard deviation of the logarithm of the length.'),
      max: inputLength('Longer ones count as this long.'),
    }),
    section({ kind: z.literal('list'), values }),
    section({
      kind: z.literal('tokens'),
      of: choice('Token column of an azure-llm trace that is the length; both: the sum.', [
        'context',
        'generated',
        'both',
      ]).default('context'),
      max: inputLength('Longer ones count as this long.').exactOptional(),
    }),
    section({
      kind: z.literal('column'),
      max: inputLength('Longer ones count as this long.').exactOptional(),
    }),
  ])
  .describe(
    'Length (tokens, pixels) of each input, for models that take several. A length column of an arrivals file takes precedence; column stands for it.',
  );

/** Keys of the file and their canonical names in src/workload/spec.ts. */
const CANONICAL = {
  slo: 'sloNs',
  start: 'startNs',
  duration: 'durationNs',
  rate: 'rateRps',
  onRate: 'onRateRps',
  offRate: 'offRateRps',
  on: 'onNs',
  off: 'offNs',
  from: 'fromRateRps',
  to: 'toRateRps',
  think: 'thinkNs',
  interval: 'intervalNs',
} as const;

const names = textField(
  { type: ['string', 'array'], items: { type: 'string' } },
  'Models that it sends to: a name or a list; * matches any text; default: all.',
  (names) => [names].flat(),
  textOrTexts,
);

const common = {
  length: lengths.exactOptional(),
  name: text('Name of the section in results; default: its kind.').exactOptional(),
  slo: duration('SLO of its requests; default: that of the run.', 1).exactOptional(),
  models: names.exactOptional(),
  class: text('Class of its requests; default: the first.').exactOptional(),
  tenant: text('Tenant that sends them; default: the first.').exactOptional(),
  start: duration('Its start, from the start of the run.').exactOptional(),
};
const length = duration('Duration, e.g. 60s.', 1);
const cut = { duration: duration('Ends the trace this long after its begin.', 1).exactOptional() };

const popularity = z.discriminatedUnion('kind', [
  section({ kind: z.literal('uniform') }),
  section({
    kind: z.literal('zipf'),
    s: z
      .number()
      .min(0)
      .default(1)
      .describe(
        'Exponent: model i gets a share proportional to 1 / (i + 1)^s; without popularity, all get the same.',
      ),
  }),
]);
const spread = popularity.prefault({ kind: 'uniform' }).describe('Distribution of requests over the models.');

const generated = { duration: length, popularity: spread };

const path = text('Trace file (.csv or .csv.gz), relative to the experiment file.');
const scale = count('Multiplies the number of requests.', 1e6)
  .exactOptional()
  .meta({ [DERIVED_DEFAULT]: 1 });
const load = (other: string) =>
  share(
    `Mean rate as a share of the capacity of the GPUs, e.g. 80%; instead of ${other}.`,
    1000,
  ).exactOptional();
/** Keys for the volume of arrivals. */
const meanRate = { rate: rate('Mean rate.').exactOptional(), load: load('rate') };
const volume = { scale, load: load('scale') };
const speed = count('Divides all times: 2 plays the trace twice as fast.', 1e6).prefault(1);
const assign = choice(
  'Which model function i drives: blocks: model ⌊M·i/F⌋, with functions sorted by descending total; stripe: model i mod M.',
  ['blocks', 'stripe'],
).default('blocks');
const interval = duration('Duration of one minute of the trace.', 1).prefault('1m');
const minutes = textField(
  { type: 'string', pattern: '^\\d+:\\d+$' },
  'Slice of the trace, from:to, e.g. 600:660.',
  readMinutes,
);

const KINDS = [
  kind('arrivals', 'Rows of arrival_ns,model_id,slo_ns, and length for models that take several.', {
    path,
    scale,
    speed,
    ...cut,
  }),
  kind('poisson', 'Random arrivals at a constant mean rate.', { ...meanRate, ...generated }),
  kind('fixed', 'Evenly spaced arrivals.', { ...meanRate, ...generated }),
  kind('gamma', 'Gaps with a gamma distribution: burstier (cv > 1) or smoother (cv < 1) than Poisson.', {
    ...meanRate,
    cv: count('Standard deviation of the gaps divided by their mean.', 1000),
    ...generated,
  }),
  kind('on-off', 'Poisson bursts with pauses between them.', {
    onRate: rate('Mean rate in a burst.'),
    offRate: rate('Mean rate in a pause.', true).prefault('0/s'),
    on: duration('Length of a burst.', 1),
    off: duration('Length of a pause.', 1),
    ...generated,
  }),
  kind('ramp', 'Poisson arrivals whose rate changes linearly.', {
    from: rate('Rate at the start.', true),
    to: rate('Rate at the end.', true),
    ...generated,
  }),
  kind('closed-loop', 'Clients that send their next request after an answer.', {
    clients: whole(
      'Number of clients; client i drives model i mod M unless popularity is given.',
      1,
      1_000_000,
    ),
    concurrency: whole('Requests that each client keeps outstanding.', 1, 1000).default(1),
    think: duration(
      'Pause between an answer and the next request, at least 1us. With 0s, refused clients ask again every microsecond.',
    ).prefault('0s'),
    duration: length,
    popularity: popularity.exactOptional().describe('Draws the model of each client once, at the start.'),
  }),
  kind('azure-2019', 'Azure Functions 2019: invocations per function and minute.', {
    path,
    ...volume,
    assign,
    minutes: minutes.exactOptional(),
    interval,
    ...cut,
  }),
  kind('azure-2021', 'Azure Functions 2021: one row per invocation.', {
    path,
    ...volume,
    assign,
    speed,
    ...cut,
  }),
  kind('azure-llm', 'Azure LLM inference 2023: exact timestamps.', {
    path,
    ...volume,
    speed,
    popularity: spread,
    ...cut,
  }),
  kind('azure-like', 'Synthetic minutes with the statistics of Azure Functions 2019.', {
    functions: whole('Number of functions.', 1, 1_000_000).default(300),
    minutes: whole('Minutes of the trace.', 1, 100_000).default(120),
    rate: rate('Mean rate over the whole trace as played, before scale.').prefault('100/s'),
    ...volume,
    assign,
    interval: duration(
      'Duration of one minute of the trace; the mean rate does not depend on it.',
      1,
    ).prefault('1m'),
    ...cut,
  }),
] as const;

export const workloadsSchema = oneOrMany(
  'workloadSection',
  z.discriminatedUnion('kind', KINDS),
  'What arrives: one section, or a list of sections that run at the same time.',
).superRefine(refuseTwice);

/** A workload section: the keys of its kind and the common ones, renamed to canonical names and units. */
function kind<Kind extends string, Shape extends z.ZodRawShape>(name: Kind, about: string, shape: Shape) {
  const fields = section({ kind: z.literal(name), ...shape, ...common }).describe(about);
  return fields.transform((value, context) => {
    const [at, message] = mistakeIn(value, shape) ?? [];
    if (at !== undefined && message !== undefined)
      context.addIssue({ code: 'custom', path: at.split('.'), message });
    return canonical(value as z.output<typeof fields>);
  });
}

/** A source steps through every burst and pause; this many take a second. */
const MOST_PHASES = 1e7;

/** Key and message of a contradiction between keys of a section. */
function mistakeIn(value: object, shape: object): [at: string, message: string] | undefined {
  const { kind, load, length, on, off, duration } = value as {
    readonly [Key in 'load' | 'on' | 'off' | 'duration']?: number;
  } & { readonly kind?: string; readonly length?: LengthSpec };
  if (load === 0) return ['load', 'must be above 0'];
  const other = 'scale' in shape ? 'scale' : 'rate';
  if (load !== undefined && other in value) return ['load', `give ${other} or load, not both`];
  if ('load' in shape && other === 'rate' && load === undefined && !('rate' in value))
    return ['rate', `${MISSING}; give rate or load`];
  if (on !== undefined && off !== undefined && (2 * duration!) / (on + off) > MOST_PHASES)
    return ['on', `too short: more than ${MOST_PHASES / 1e6} million bursts and pauses`];
  if (length?.kind === 'tokens' && kind !== 'azure-llm')
    return ['length.kind', 'only azure-llm traces have tokens'];
  if (length?.kind === 'column' && kind !== 'arrivals')
    return ['length.kind', 'only arrivals have a length column'];
  if (length?.kind === 'uniform' && length.from > length.to)
    return ['length.to', `must be at least ${length.from}`];
  return undefined;
}

type Canonical<T> = { [K in keyof T as K extends keyof typeof CANONICAL ? (typeof CANONICAL)[K] : K]: T[K] };

function canonical<T extends object>(value: T): Canonical<T> {
  const renames: Readonly<Record<string, string>> = CANONICAL;
  return Object.fromEntries(
    Object.entries(value).map(([key, field]) => [renames[key] ?? key, field]),
  ) as Canonical<T>;
}

function readMinutes(value: unknown): readonly [number, number] {
  const match = /^(\d+):(\d+)$/.exec(String(value));
  const [from, to] = [Number(match?.[1]), Number(match?.[2])];
  if (match === null || to <= from) refuse(`must be a slice from:to such as 600:660, found ${show(value)}`);
  return [from, to];
}
