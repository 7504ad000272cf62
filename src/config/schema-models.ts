import * as z from 'zod';
import { count, oneOrMany, section, text, whole } from './fields.js';
import { CSV_COLUMNS } from './models-csv.js';
import { ZOO_VARIETIES } from './zoo.js';

const copiesUpTo = (most: number) =>
  whole('Instances with names of their own: NAME-0, NAME-1, …; with 1 just NAME.', 1, most).default(1);
const copies = copiesUpTo(10_000);

const profilesOf = (what: string) =>
  z
    .record(z.string(), z.string().min(1))
    .prefault({})
    .describe(
      `${what} measured on kinds of GPUs, by name in cluster.gpus, e.g. { t4: t4.json }; for the others see speed there.`,
    );

const gpus = z
  .array(z.string())
  .exactOptional()
  .describe('Kinds of GPUs that have these models, by name in cluster.gpus, e.g. [t4]; default: all.');

const modelsSection = z.discriminatedUnion('kind', [
  section({
    kind: z.literal('csv'),
    path: text(`Models file, CSV. Its columns: ${CSV_COLUMNS}. Other tables: escapement import profiles.`),
    profiles: profilesOf('Files with the same models'),
    gpus,
  }).describe('Models that were measured, in a table.'),
  section({
    kind: z.literal('profile'),
    path: text('Profile (JSON), relative to the experiment file.'),
    profiles: profilesOf('Profiles'),
    gpus,
    copies,
    name: text('Its name; default: that of the profile.').exactOptional(),
  }).describe('A measured model.'),
  section({
    kind: z.literal('onnx'),
    path: text('ONNX file, or the folder of a model in a repository, NAME/VERSION/model.onnx.'),
    profile: text(
      'Its profile (JSON); default: profile.DEVICE.json next to the model, by live.device, or cpu if simulated.',
    ).exactOptional(),
    profiles: profilesOf('Profiles'),
    gpus,
    batchSizes: z
      .array(z.int().min(1))
      .min(1)
      .exactOptional()
      .describe('Batch sizes of the profile to use, including 1; default: all.'),
    copies,
    name: text(
      'Its name; default: its folder in a repository, or else the name in the profile.',
    ).exactOptional(),
  }).describe('A model that can run live; simulations use its measured profile.'),
  section({
    kind: z.literal('fit'),
    parameters: count('Parameters of the model, e.g. 25.6M.'),
    gpus,
    copies,
    name: text('Its name; default: fit-PARAMETERS.').exactOptional(),
  }).describe('A model known only by its size; its latencies on a V100 are estimated from it.'),
  section({
    kind: z.literal('zoo'),
    varieties: whole('Number of bundled varieties, from the first.', 1, ZOO_VARIETIES.length).default(
      ZOO_VARIETIES.length,
    ),
    gpus,
    copies: copiesUpTo(1000),
  }).describe(
    'Many well-known vision models: copy 0 of every variety, then copy 1 of every variety, and so on.',
  ),
]);

/** One checked section of `models:`. */
export type ModelsSection = z.output<typeof modelsSection>;

export const modelsSchema = oneOrMany(
  'modelsSection',
  modelsSection,
  'What is served: one section, or a list of sections one after the other.',
);
