import { writeOut } from '../../text/terminal.js';
import { choice, required, type ValuesOf } from '../options.js';

const NAMES = ['experiment', 'profile', 'summary', 'run', 'results'] as const;

export const flags = { name: required(choice(NAMES)('Format')) };
export const examples = ['schema experiment > experiment.schema.json'];
export const notes =
  'summary is the output of simulate --json, run is run.json, and results is results.json of a sweep. Editors check ' +
  'and complete experiment files with experiment.';

/** `escapement schema NAME`: the published formats, for editors and scripts. */
export async function handler({ name }: ValuesOf<typeof flags>): Promise<void> {
  const z = await import('zod');
  const { experimentJsonSchema, profileJsonSchema } = await import('../../config/keys.js');
  const { runResultSchema, sweepResultsSchema } = await import('../../record/schema.js');
  const { summaryJsonSchema } = await import('../../record/schema-summary.js');
  const schemas = {
    experiment: experimentJsonSchema,
    profile: profileJsonSchema,
    summary: summaryJsonSchema,
    run: () => z.toJSONSchema(runResultSchema),
    results: () => z.toJSONSchema(sweepResultsSchema),
  };
  writeOut(`${JSON.stringify(schemas[name](), null, 2)}\n`);
}
