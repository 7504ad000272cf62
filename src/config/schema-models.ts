import * as z from 'zod';
import { count, oneOrMany, section } from './fields.js';

/** Varieties in the bundled zoo, as many as in Clockwork's evaluation (OSDI 2020, §6). */
export const ZOO_VARIETIES = 61;

const copies = z
  .int()
  .min(1)
  .default(1)
  .describe('Instances under their own names: NAME-0, NAME-1 and so on; with 1, just NAME.');

const modelsSection = z.discriminatedUnion('kind', [
  section({
    kind: z.literal('csv'),
    path: z
      .string()
      .min(1)
      .describe('Models file with the columns model_id, weights_bytes, weights_transfer_ns, b1_ns …'),
  }).describe('One model a row.'),
  section({
    kind: z.literal('profile'),
    path: z.string().min(1).describe('Profile (JSON), relative to the experiment file.'),
    copies,
    name: z.string().min(1).exactOptional().describe("Instead of the profile's name."),
  }).describe('A measured model.'),
  section({
    kind: z.literal('onnx'),
    path: z
      .string()
      .min(1)
      .describe('ONNX file, or the folder of a model in a repository, NAME/VERSION/model.onnx.'),
    profile: z
      .string()
      .min(1)
      .exactOptional()
      .describe(
        'Its profile (JSON); profile.DEVICE.json beside the model, cpu unless live.device is another, when absent.',
      ),
    batchSizes: z
      .array(z.int().min(1))
      .min(1)
      .exactOptional()
      .describe('Batch sizes to use, of those in the profile and with 1; all of them when absent.'),
    copies,
    name: z.string().min(1).exactOptional().describe("Instead of the profile's name."),
  }).describe('A model that runs live; simulations take its measured profile.'),
  section({
    kind: z.literal('fit'),
    parameters: count('Parameters of the model, e.g. 25.6M.'),
    copies,
    name: z.string().min(1).exactOptional().describe('Its name; fit-PARAMETERS when absent.'),
  }).describe('A model known by its size alone; V100 latencies follow from a fit.'),
  section({
    kind: z.literal('zoo'),
    varieties: z
      .int()
      .min(1)
      .max(ZOO_VARIETIES)
      .default(ZOO_VARIETIES)
      .describe('The first so many of the bundled varieties.'),
    copies,
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
