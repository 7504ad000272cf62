import type { Argv } from 'yargs';
import { writeOut } from '../../text/terminal.js';
import type { ArgsOf } from '../options.js';

const NAMES = ['experiment', 'profile', 'summary', 'run', 'results'] as const;

export const builder = (yargs: Argv) =>
  yargs
    .positional('name', { choices: NAMES, describe: 'Format', demandOption: true })
    .example([['$0 schema experiment > experiment.schema.json', '']])
    .epilogue(
      'experiment and profile are input files. summary is what simulate --json prints, run is run.json, and results is ' +
        'results.json of a sweep. Editors check and complete experiment files with the first.',
    );

/** `escapement schema NAME`: the published formats, for editors and scripts. */
export async function handler({ name }: ArgsOf<typeof builder>): Promise<void> {
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
