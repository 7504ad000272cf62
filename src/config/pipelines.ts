import * as z from 'zod';
import { type ErrorPlace, EscapementError } from '../base/errors.js';
import { suggestion } from '../base/nearest.js';
import type { ModelSpec } from '../core/model.js';
import type { PipelineDefinition, StepDefinition, TensorReference } from '../core/pipeline-definition.js';
import { MOST_FAN_OUT, MOST_STEPS, SPLITS } from '../core/pipelines.js';
import { stepOrder } from '../core/step-order.js';
import type { DrawnPipeline, FanOut } from '../sim/fan-out.js';
import {
  choice,
  count,
  duration,
  oneOrMany,
  refuse,
  refuseTwice,
  section,
  share,
  text,
  textField,
  textOrTexts,
  whole,
} from './fields.js';

/** Limit on variants of a step, each of which is looked at for every request. */
const MOST_VARIANTS = 32;

const name = (about: string) =>
  z
    .string()
    .regex(/^[A-Za-z0-9][\w.-]*$/, 'must be letters, digits, ., - and _')
    .describe(about);
const requests = (about: string, least = 0) => whole(about, least, MOST_FAN_OUT);

const fanOut = z
  .preprocess(
    (value) => (typeof value === 'number' ? { kind: 'constant', value } : value),
    z.discriminatedUnion('kind', [
      section({
        kind: z.literal('constant'),
        value: requests('kind: constant, or a plain number: its number of requests.', 1),
      }),
      section({
        kind: z.literal('uniform'),
        from: requests('kind: uniform: fewest requests.').default(0),
        to: requests('kind: uniform: most requests.', 1),
      }),
      section({
        kind: z.literal('poisson'),
        mean: count('kind: poisson: mean number of requests.', MOST_FAN_OUT),
        max: requests('kind: poisson: most requests.', 1).default(MOST_FAN_OUT),
      }),
      section({
        kind: z.literal('length'),
        mean: count(
          "kind: length: the length of the pipeline's request is the number; this is its mean, for predictions and load.",
          MOST_FAN_OUT,
        ),
      }),
      section({
        kind: z.literal('list'),
        values: z
          .array(z.int().min(0).max(MOST_FAN_OUT))
          .min(1)
          .max(10_000)
          .describe('kind: list: numbers of requests, all equally likely.'),
      }),
    ]),
  )
  .prefault({ kind: 'constant', value: 1 })
  .describe(
    'Its requests per request of the pipeline, such as crops of a picture: a number, or drawn for each. Later steps wait for all of them, and are skipped if there are none.',
  );

const variant = section({
  model: text('A model that may serve the step.'),
  accuracy: share('Share of its answers that are right, as measured on a test set.', 1),
});

const stepSchema = section({
  id: name('Its name within the pipeline; default: its model, or its first variant.').exactOptional(),
  model: text('Its model, or give variants.').exactOptional(),
  variants: z
    .array(variant.meta({ id: 'variant' }))
    .min(1)
    .max(MOST_VARIANTS)
    .describe(
      'Models of which any may serve it. Each request gets the most accurate one that is expected to meet its deadline with the present queues and rate; if none is, the one expected to end first.',
    )
    .exactOptional(),
  after: textField(
    { type: ['string', 'array'], items: { type: 'string' } },
    'Steps that must end before it begins: an id or a list of ids; default: none.',
    (ids) => [ids].flat(),
    textOrTexts,
  ).exactOptional(),
  inputs: z
    .record(z.string(), z.string())
    .describe(
      'Sources of the inputs of its model in live mode: STEP.OUTPUT, or an input of the pipeline; default: the one of the same name. It waits for these steps, too.',
    )
    .prefault({}),
  each: textField(
    { type: ['string', 'array'], items: { type: 'string' } },
    'Inputs of which each of its requests gets one row, in live mode. Later steps get its outputs stacked, a row for each request.',
    (names) => [names].flat(),
    textOrTexts,
  ).exactOptional(),
  fanOut,
  probability: share('Chance that it is needed and not skipped.', 1).prefault(1),
  budget: count('Its part of the SLO relative to other steps, for split: fixed.', 1e6).prefault(1),
});

/** `pipelines`: graphs of models. */
export const pipelinesSchema = oneOrMany(
  'pipeline',
  section({
    name: name('Its name, which clients and workload sections use like that of a model.'),
    slo: duration(
      'SLO of its requests from arrival to the end of the last step, if the workload section has none; default: that of the run.',
      1,
    ).exactOptional(),
    split: choice(
      'How steps get their deadlines. slack: the time left, less what later steps are expected to need with the present queues; equal: the same part of the SLO for each; proportional: by the time of one request alone; fixed: by budget.',
      SPLITS,
    ).default('slack'),
    steps: z
      .array(stepSchema.meta({ id: 'step' }))
      .min(1)
      .max(MOST_STEPS)
      .describe('Its steps, in any order.'),
    outputs: z
      .record(z.string(), z.string())
      .describe(
        'Its outputs in live mode, by name: STEP.OUTPUT; default: those of the steps that no other waits for.',
      )
      .exactOptional(),
  }),
  'Graphs of models with one deadline: a pipeline, or a list of them.',
)
  .superRefine(refuseTwice)
  .exactOptional();

type Written = NonNullable<z.output<typeof pipelinesSchema>>;
type WrittenStep = Written[number]['steps'][number];
/** A step with the model that serves it, of several variants the most accurate. */
type Step = Omit<WrittenStep, 'variants'> & {
  readonly model: string;
  readonly variants?: readonly { readonly model: string; readonly accuracy: number }[];
};

/** A pipeline, checked, with its steps in an order in which they can run. */
export interface PipelineConfig extends DrawnPipeline, Omit<PipelineDefinition, 'steps'> {
  readonly steps: readonly (DrawnPipeline['steps'][number] & StepDefinition)[];
}

/**
 * Throws `E_CONFIG_VALUE` and `E_UNKNOWN_MODEL` for steps that go round in a circle, or name what there is not.
 * `models`: null: those of a server, which come and go.
 */
export function buildPipelines(
  written: Written,
  models: readonly ModelSpec[] | null,
  placeOf: (path: (string | number)[]) => ErrorPlace,
): PipelineConfig[] {
  const names = models?.map(({ name }) => name) ?? null;
  return written.map(({ name, slo, split, steps: writtenSteps, outputs }, p) => {
    const at = (...path: (string | number)[]) => placeOf(['pipelines', p, ...path]);
    if (names?.includes(name)) refuse(`${name} is the name of a model, too: choose another`, at('name'));
    const steps = writtenSteps.map((step, s) => withModel(step, (...path) => at('steps', s, ...path)));
    const ids = steps.map(({ id }, s) => id ?? (writtenSteps[s]!.variants?.[0] ?? steps[s]!).model);
    const fed = steps.map(({ inputs }, s) =>
      mapped(inputs, (from, input) => referenceOf(from, ids, at('steps', s, 'inputs', input))),
    );
    const linked = steps.map((step, s) => {
      const sources = Object.values(fed[s]!).flatMap((from) => ('step' in from ? ids[from.step]! : []));
      return { ...step, after: [...new Set([...(step.after ?? []), ...sources])] };
    });
    for (const [s, { after, fanOut }] of linked.entries()) {
      if (ids.indexOf(ids[s]!) < s)
        refuse(`two steps are named ${ids[s]}: give one of them another id`, at('steps', s));
      if (fanOut.kind === 'uniform' && fanOut.from > fanOut.to)
        refuse(`must be at least ${fanOut.from}`, at('steps', s, 'fanOut', 'to'));
      const { model, variants = [] } = writtenSteps[s]!;
      checkKnown(model ?? steps[s]!.model, names, at('steps', s, 'model'));
      for (const [v, variant] of variants.entries())
        checkKnown(variant.model, names, at('steps', s, 'variants', v, 'model'));
      const unknown = after.find((id) => !ids.includes(id));
      if (unknown !== undefined)
        refuse(`there is no step "${unknown}": ${suggestion(unknown, ids)}`, at('steps', s, 'after'));
    }
    const found = stepOrder(linked.map(({ after }) => after.map((id) => ids.indexOf(id))));
    if ('circle' in found) {
      const circle = found.circle.map((step) => ids[step]).join(' after ');
      return refuse(`they wait for each other in a circle: ${circle}`, at('steps'));
    }
    const { order } = found;
    const place = (from: TensorReference): TensorReference =>
      'step' in from ? { ...from, step: order.indexOf(from.step) } : from;
    const served =
      outputs &&
      mapped(outputs, (from, output) => {
        const reference = referenceOf(from, ids, at('outputs', output));
        if ('step' in reference) return place(reference);
        return refuse(`must be STEP.OUTPUT, found ${from}`, at('outputs', output));
      });
    const done = finished(linked, ids, order, names).map((step, i) => ({
      ...step,
      inputs: mapped(fed[order[i]!]!, place),
    }));
    return { name, split, sloNs: slo ?? null, steps: done, outputs: served ?? null };
  });
}

/** Throws `E_CONFIG_VALUE` unless the step names a model, or variants that differ. */
function withModel(
  { model, variants, ...step }: WrittenStep,
  at: (...path: (string | number)[]) => ErrorPlace,
): Step {
  if ((model === undefined) === (variants === undefined))
    refuse('needs a model, or variants in its place', at());
  if (variants === undefined) return { ...step, model: model! };
  const twice = variants.findIndex(
    (each, v) => variants.findIndex((other) => other.model === each.model) < v,
  );
  if (twice >= 0) refuse(`${variants[twice]!.model} is listed twice`, at('variants', twice, 'model'));
  const wrong = variants.findIndex(({ accuracy }) => accuracy === 0);
  if (wrong >= 0) refuse('must be above 0', at('variants', wrong, 'accuracy'));
  const sorted = variants.toSorted((a, b) => b.accuracy - a.accuracy);
  return { ...step, model: sorted[0]!.model, variants: sorted };
}

function checkKnown(model: string, names: readonly string[] | null, place: ErrorPlace): void {
  if (names === null || names.includes(model)) return;
  const what = `there is no model "${model}": ${suggestion(model, names)}`;
  throw new EscapementError('E_UNKNOWN_MODEL', what, place);
}

/** Reads a text such as `detect.BOXES`. */
function referenceOf(text: string, ids: readonly string[], place: ErrorPlace): TensorReference {
  const step = ids.findIndex((id) => text.startsWith(`${id}.`));
  if (step >= 0) return { step, output: text.slice(ids[step]!.length + 1) };
  const [id] = text.split('.') as [string];
  if (id !== text) refuse(`there is no step "${id}": ${suggestion(id, ids)}`, place);
  return { input: text };
}

function mapped<T, U>(
  record: Readonly<Record<string, T>>,
  map: (value: T, key: string) => U,
): Record<string, U> {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, map(value, key)]));
}

/** Names that workloads send to: models, then pipelines. */
export function targetNames(
  models: readonly { readonly name: string }[],
  pipelines: readonly { readonly name: string }[],
): string[] {
  return [...models, ...pipelines].map(({ name }) => name);
}

function finished(
  steps: readonly Step[],
  ids: readonly string[],
  order: readonly number[],
  models: readonly string[] | null,
): Omit<PipelineConfig['steps'][number], 'inputs'>[] {
  const done: Omit<PipelineConfig['steps'][number], 'inputs'>[] = [];
  const indexOf = (model: string) => models?.indexOf(model) ?? -1;
  /** By step: chance that it is not skipped. */
  const chances: number[] = [];
  for (const index of order) {
    const { model, variants, after: names = [], fanOut, probability, budget, each = [] } = steps[index]!;
    const after = names.map((name) => order.indexOf(ids.indexOf(name))).sort((a, b) => a - b);
    const isReached =
      after.length === 0 ? 1 : 1 - after.reduce((none, before) => none * (1 - chances[before]!), 1);
    const chance = isReached * probability;
    const { least, mean, none } = countsOf(fanOut);
    const isCertain =
      probability === 1 &&
      each.length === 0 &&
      (after.length === 0 || after.some((before) => done[before]!.least > 0));
    chances.push(chance * (1 - none));
    done.push({
      ...{ id: ids[index]!, model: indexOf(model), after, budget, fanOut, probability },
      ...(variants && { variants: variants.map((each) => ({ ...each, model: indexOf(each.model) })) }),
      ...{ modelNames: variants?.map((each) => each.model) ?? [model], version: null, each },
      isOne: probability === 1 && fanOut.kind === 'constant' && fanOut.value === 1,
      least: isCertain ? least : 0,
      mean: chance * mean,
    });
  }
  return done;
}

/** Fewest requests, their mean, and the chance of none. */
function countsOf(fanOut: FanOut): { readonly least: number; readonly mean: number; readonly none: number } {
  switch (fanOut.kind) {
    case 'constant':
      return { least: fanOut.value, mean: fanOut.value, none: 0 };
    case 'uniform': {
      const { from, to } = fanOut;
      return { least: from, mean: (from + to) / 2, none: from === 0 ? 1 / (to + 1) : 0 };
    }
    case 'poisson':
      return { least: 0, mean: Math.min(fanOut.mean, fanOut.max), none: Math.exp(-fanOut.mean) };
    case 'length':
      return { least: 0, mean: fanOut.mean, none: 0 };
    case 'list': {
      const { values } = fanOut;
      const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
      const none = values.filter((value) => value === 0).length / values.length;
      return { least: Math.min(...values), mean, none };
    }
  }
}
