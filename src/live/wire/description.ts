import * as z from 'zod';
import { NS_PER_S } from '../../base/units.js';
import { checkModel, type ModelSpec } from '../../core/model.js';
import type { WorkerDescription, WorkerState } from '../messages.js';
import { isKindName } from '../messages.js';
import { bytesOfShape, DATATYPES, type Datatype, FREE, type ServedModel } from '../model.js';
import { checked, listOf, TEXT } from './framing.js';

/** Limits that no real machine, batch, LOAD or INFER exceeds. */
const MOST_GPUS = 1024;
const MOST_BATCH = 65_536;
const LONGEST_NS = 3600 * NS_PER_S;
/** Limit on models of a worker: lists are as long as the largest index. */
const MOST_MODELS = 100_000;

const COUNT = z.int().nonnegative();
const POSITIVE = z.int().positive();
const NS = POSITIVE.max(LONGEST_NS);

export const DATATYPE = z.enum(Object.keys(DATATYPES) as [Datatype, ...Datatype[]]);
const TENSOR = z
  .object({
    name: TEXT,
    datatype: DATATYPE,
    shape: listOf(z.int().min(FREE)),
    bytes: COUNT,
  })
  .refine(
    ({ datatype, shape, bytes }) => bytesOfShape(datatype, shape.map(Math.abs)) === bytes,
    'impossible size',
  );

const SPEC = z
  .object({
    name: TEXT,
    weightsBytes: COUNT,
    pages: POSITIVE,
    loadNs: NS,
    batchSizes: listOf(POSITIVE.max(MOST_BATCH)),
    execNs: listOf(NS),
    lengths: listOf(POSITIVE).optional(),
    execNsByLength: listOf(listOf(NS)).optional(),
    equalLengths: z.boolean().optional(),
    inputBytes: COUNT,
    outputBytes: COUNT,
  })
  .superRefine((spec, context) => {
    try {
      checkModel(spec as ModelSpec);
    } catch (error) {
      context.addIssue({ code: 'custom', message: (error as Error).message });
    }
  });

/** A model as its worker describes it. */
export const SERVED_MODEL = z
  .object({
    spec: SPEC,
    signature: z.object({
      inputs: listOf(TENSOR),
      outputs: listOf(TENSOR),
      batched: z.boolean(),
      maxBatch: POSITIVE.optional(),
      lengths: z.object({ buckets: listOf(POSITIVE), fill: listOf(z.number().nullable()) }).optional(),
      stackable: z.boolean().optional(),
    }),
    version: TEXT,
    sloNs: POSITIVE.nullable(),
    digest: TEXT.optional(),
    config: TEXT.optional(),
    isProvisional: z.boolean().optional(),
    labels: listOf(listOf(TEXT).nullable()).nullable().optional(),
  })
  .refine(
    (model) => areLengths(model as ServedModel),
    'impossible lengths',
  ) as unknown as z.ZodType<ServedModel>;

function areLengths({ spec, signature: { inputs, outputs, batched, lengths } }: ServedModel): boolean {
  if (lengths === undefined) return true;
  const { buckets, fill } = lengths;
  const free = (shape: readonly number[]) => shape.filter((size) => size === FREE).length;
  return (
    batched &&
    `${buckets}` === `${spec.lengths}` &&
    fill.length === inputs.length &&
    inputs.some(({ shape }) => free(shape) === 1) &&
    [...inputs, ...outputs].every(({ shape, bytes }) => free(shape) === 0 || (free(shape) === 1 && bytes > 0))
  );
}

export const MODEL_INDEX = COUNT.max(MOST_MODELS - 1);
export const MODEL_REFERENCE = z.object({ name: TEXT, version: TEXT, digest: TEXT, config: TEXT.optional() });

/** Description of a worker by itself. */
export const DESCRIPTION = z
  .object({
    gpus: listOf(
      z.object({ name: TEXT, provider: TEXT, pages: POSITIVE, oneLane: z.boolean() }),
      1,
      MOST_GPUS,
    ),
    pageBytes: POSITIVE,
    kind: TEXT.refine(isKindName, 'a kind is a name of letters and digits').optional(),
    models: listOf(SERVED_MODEL),
    instance: TEXT.optional(),
  })
  .refine(({ models }) => {
    const names = new Set(models.map(({ spec, version }) => JSON.stringify([spec.name, version])));
    return names.size === models.length;
  }, 'two models have one name and version') as unknown as z.ZodType<WorkerDescription>;

export const STATE = z.object({
  present: listOf(listOf(MODEL_INDEX)),
  changes: listOf(z.object({ index: MODEL_INDEX, reference: MODEL_REFERENCE.nullable() })).optional(),
}) as unknown as z.ZodType<WorkerState>;

/** State of a worker that has described itself so. Throws `Error` if these weights cannot be on its GPUs. */
export function stateOf(value: unknown, { gpus, models }: WorkerDescription): WorkerState {
  const state = checked(STATE, value);
  const { present, changes = [] } = state;
  const known = new Set(models.keys());
  for (const { index, reference } of changes) {
    if (reference === null) known.delete(index);
    else known.add(index);
  }
  if (present.length !== gpus.length) throw new Error(`${present.length} GPUs, not ${gpus.length}`);
  for (const held of present) {
    const unknown = held.find((model) => !known.has(model));
    if (unknown !== undefined) throw new Error(`there is no model ${unknown}`);
    if (new Set(held).size !== held.length) throw new Error('a model is on a GPU twice');
  }
  return state;
}
