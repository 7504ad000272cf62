import { choice, required } from '../flag.js';
import { type ArgsOf, usageOf } from '../usage.js';

export const SCHEMA_NAMES = ['experiment', 'profile', 'summary', 'run', 'results'] as const;

export const usage = usageOf({
  arguments: { name: required(choice(SCHEMA_NAMES, 'Format')) },
  examples: ['schema experiment > experiment.schema.json'],
  notes: [
    'experiment and profile are input files. summary is what simulate --json prints, run is run.json, and results is ' +
      'results.json of a sweep. Editors check and complete experiment files with the first.',
  ],
});

export type SchemaArgs = ArgsOf<typeof usage>;
