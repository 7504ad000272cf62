import type { Argv } from 'yargs';
import { z } from 'zod';
import { experimentJsonSchema, profileJsonSchema } from '../../experiment/json-schema.js';
import { runResultSchema, summaryJsonSchema, sweepResultsSchema } from '../../metrics/schema.js';

/** JSON Schemas by the name that the command takes. */
const SCHEMAS = {
  experiment: experimentJsonSchema,
  profile: profileJsonSchema,
  summary: summaryJsonSchema,
  run: () => z.toJSONSchema(runResultSchema),
  results: () => z.toJSONSchema(sweepResultsSchema),
};

/** `escapement schema NAME`: the published formats, for editors and scripts. */
export function schemaCommand(cli: Argv): void {
  cli.command(
    'schema <name>',
    'Print the JSON Schema of a file format',
    (command) =>
      command
        .positional('name', {
          choices: Object.keys(SCHEMAS) as (keyof typeof SCHEMAS)[],
          demandOption: true,
          describe: 'experiment and profile are input; summary (simulate --json), run and results are output',
        })
        .example('$0 schema experiment > experiment.schema.json  # for an editor', ''),
    ({ name }) => {
      process.stdout.write(`${JSON.stringify(SCHEMAS[name](), null, 2)}\n`);
    },
  );
}
