import { required, text } from '../flag.js';
import { type ArgsOf, usageOf } from '../usage.js';
import { json } from './common.js';
import { cacheFlags } from './server.js';

/** A repository of models, as an argument. */
export const repositoryFolder = required(text('FOLDER', 'Model repository, as NAME/VERSION/model.onnx'));

export const usage = usageOf({
  arguments: { repository: repositoryFolder },
  flags: { 'cache-dir': { ...cacheFlags['cache-dir'], group: 'Options' }, json },
  examples: ['model list models'],
  notes: ['Exit code 41: something in the repository cannot be served; the rest is listed.'],
});

export type ModelListArgs = ArgsOf<typeof usage>;
