import type { Argv } from 'yargs';
import { modelListCommand } from './model-list.js';
import { modelMakeCommand } from './model-make.js';
import { modelOptimizeCommand } from './model-optimize.js';

/** `escapement model …`: make, look at and prepare the models of a repository. */
export function modelCommand(cli: Argv): void {
  cli.command('model', 'Make, list and optimize models on disk', (model) => {
    modelMakeCommand(model);
    modelListCommand(model);
    modelOptimizeCommand(model);
    return model.demandCommand(1, 'name a subcommand: model make, model list or model optimize');
  });
}
