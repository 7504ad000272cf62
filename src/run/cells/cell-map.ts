import * as z from 'zod';
import type { Immutable } from '../../base/immutable.js';
import type { CellSection } from '../../config/cell.js';

const gpus = z.number().nonnegative();
const slice = z.tuple([z.number().min(0).max(1), z.number().min(0).max(1)]);

const mappedModelSchema = z.strictObject({
  name: z.string().min(1),
  load: gpus.describe('GPUs that its requests in this cell keep busy, mean over the run.'),
  requests: slice
    .exactOptional()
    .describe(
      'Slice of its requests that the cell gets, of a model that several cells have; absent: all of them.',
    ),
});

const mappedCellSchema = z.strictObject({
  name: z
    .string()
    .regex(/^cell-[1-9]\d*$/)
    .describe('cell-1, cell-2, …'),
  gpus: z
    .string()
    .regex(/^\d+:\d+$/)
    .describe('Its GPUs, from:to, counted from 0 over all workers, without the last one.'),
  load: gpus.describe('GPUs that its models keep busy, mean over the run.'),
  loadShare: z.number().min(0).max(1).describe("The same as a share of all cells' load."),
  peakLoad: gpus.describe('The same in the busiest interval of the run.'),
  weightsBytes: z.int().nonnegative().describe('Weights of its models.'),
  models: z.array(mappedModelSchema).min(1).describe('In the order of the experiment.'),
});

/** Which cell has which GPUs and models: what `plan --cells` writes. */
export const cellMapSchema = z
  .strictObject({
    version: z.literal(1),
    escapement: z.string().describe('Version of escapement that planned it.'),
    name: z.string().describe('Name of the experiment.'),
    intervalSeconds: z.number().positive().describe('Loads were measured in intervals of this length.'),
    cells: z.array(mappedCellSchema).min(1),
  })
  .describe('GPUs and models of several controllers.');

export type CellMap = Immutable<z.output<typeof cellMapSchema>>;
export type MappedCell = CellMap['cells'][number];

/** A cell of a map as the experiment's key `cell` takes it. */
export function sectionOf({ gpus: range, models }: MappedCell): CellSection {
  const [from, to] = range.split(':').map(Number) as [number, number];
  return {
    gpus: [from, to],
    models: models.map(({ name }) => name),
    requests: Object.fromEntries(
      models.flatMap(({ name, requests }) => (requests === undefined ? [] : [[name, [...requests]]])),
    ),
  };
}

/** The same as an override of the experiment. */
export function overrideOf(cell: MappedCell): string {
  const { models, requests } = sectionOf(cell);
  return `cell=${JSON.stringify({ gpus: cell.gpus, models, requests })}`;
}

/** The models that several cells have, in the order of the first of these cells, with the cells. */
export function splitModels({
  cells,
}: CellMap): { readonly name: string; readonly cells: readonly string[] }[] {
  const found = new Map<string, string[]>();
  for (const { name: cell, models } of cells) {
    for (const { name, requests } of models) {
      if (requests !== undefined) found.set(name, [...(found.get(name) ?? []), cell]);
    }
  }
  return [...found].map(([name, of]) => ({ name, cells: of }));
}
