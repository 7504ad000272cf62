import type { Argv } from 'yargs';
import { json } from '../common-options.js';
import { type ArgsOf, group, required, text } from '../options.js';
import { cacheFlags } from '../server-options.js';

/** A repository of models, as an argument. */
export const repositoryFolder = required(text('FOLDER', 'Model repository, as NAME/VERSION/model.onnx'));

const builder = (yargs: Argv) =>
  yargs
    .positional('repository', repositoryFolder)
    .options(group('Options', { 'cache-dir': { ...cacheFlags['cache-dir'], group: 'Options' }, json }))
    .example([['$0 model list models', '']])
    .epilogue('Exit code 41: something in the repository cannot be served; the rest is listed.');

export type ModelListArgs = ArgsOf<typeof builder>;

export const modelList = {
  command: 'list [repository]',
  describe: 'List the models of a repository',
  builder,
};
