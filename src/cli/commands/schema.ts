import type { Argv } from 'yargs';
import type { ArgsOf } from '../options.js';

const SCHEMA_NAMES = ['experiment', 'profile', 'summary', 'run', 'results'] as const;

const builder = (yargs: Argv) =>
  yargs
    .positional('name', { choices: SCHEMA_NAMES, describe: 'Format', demandOption: true })
    .example([['$0 schema experiment > experiment.schema.json', '']])
    .epilogue(
      'experiment and profile are input files. summary is what simulate --json prints, run is run.json, and results is ' +
        'results.json of a sweep. Editors check and complete experiment files with the first.',
    );

export type SchemaArgs = ArgsOf<typeof builder>;

export const schema = {
  command: 'schema <name>',
  describe: 'Print the JSON Schema of a file format',
  builder,
};
