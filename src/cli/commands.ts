import type { Argv, CommandModule } from 'yargs';
import { bench } from './commands/bench.js';
import { bound } from './commands/bound.js';
import { check } from './commands/check.js';
import { compare } from './commands/compare.js';
import { config } from './commands/config.js';
import { conform } from './commands/conform.js';
import { controller } from './commands/controller.js';
import { doctor } from './commands/doctor.js';
import { explain } from './commands/explain.js';
import { keys } from './commands/keys.js';
import { load } from './commands/load.js';
import { modelList } from './commands/model-list.js';
import { modelMake } from './commands/model-make.js';
import { modelOptimize } from './commands/model-optimize.js';
import { plan } from './commands/plan.js';
import { play } from './commands/play.js';
import { profileMeasure } from './commands/profile-measure.js';
import { profileShow } from './commands/profile-show.js';
import { replay } from './commands/replay.js';
import { report } from './commands/report.js';
import { run } from './commands/run.js';
import { schema } from './commands/schema.js';
import { serve } from './commands/serve.js';
import { simulate } from './commands/simulate.js';
import { sweep } from './commands/sweep.js';
import { sweepWorker } from './commands/sweep-worker.js';
import { top } from './commands/top.js';
import { traceConvert } from './commands/trace-convert.js';
import { traceGenerate } from './commands/trace-generate.js';
import { traceInfo } from './commands/trace-info.js';
import { worker } from './commands/worker.js';

// biome-ignore lint/suspicious/noExplicitAny: each command has arguments of its own.
export type Command = CommandModule<object, any>;

/** Commands of two words, by the first. */
export const FAMILIES: Readonly<Record<string, readonly Command[]>> = {
  trace: [
    command(traceInfo, () => import('./handlers/trace-info.js')),
    command(traceGenerate, () => import('./handlers/trace-generate.js')),
    command(traceConvert, () => import('./handlers/trace-convert.js')),
  ],
  model: [
    command(modelMake, () => import('./handlers/model-make.js')),
    command(modelList, () => import('./handlers/model-list.js')),
    command(modelOptimize, () => import('./handlers/model-optimize.js')),
  ],
  profile: [
    command(profileMeasure, () => import('./handlers/profile-measure.js')),
    command(profileShow, () => import('./handlers/profile-show.js')),
  ],
};

/** Every command, in the order of the help: simulate, serve, measure, inspect, look up. */
export const COMMANDS: readonly Command[] = [
  command(simulate, () => import('./handlers/simulate.js')),
  command(sweep, () => import('./handlers/sweep.js')),
  command(sweepWorker, () => import('./handlers/sweep-worker.js')),
  command(plan, () => import('./handlers/plan.js')),
  command(bound, () => import('./handlers/bound.js')),
  command(play, () => import('./handlers/play.js')),
  family('trace', 'Describe, generate and convert traces'),
  command(serve, () => import('./handlers/serve.js')),
  command(controller, () => import('./handlers/controller.js')),
  command(worker, () => import('./handlers/worker.js')),
  command(top, () => import('./handlers/top.js')),
  command(config, () => import('./handlers/config.js')),
  command(doctor, () => import('./handlers/doctor.js')),
  family('model', 'Make, list and optimize models'),
  command(run, () => import('./handlers/run.js')),
  command(load, () => import('./handlers/load.js')),
  command(bench, () => import('./handlers/bench.js')),
  command(conform, () => import('./handlers/conform.js')),
  family('profile', 'Measure and show latency profiles'),
  command(report, () => import('./handlers/report.js')),
  command(compare, () => import('./handlers/compare.js')),
  command(check, () => import('./handlers/check.js')),
  command(explain, () => import('./handlers/explain.js')),
  command(replay, () => import('./handlers/replay.js')),
  command(keys, () => import('./handlers/keys.js')),
  command(schema, () => import('./handlers/schema.js')),
];

function family(name: string, describe: string): Command {
  const commands = [...FAMILIES[name]!];
  const names = commands.map((each) => `${name} ${String(each.command).split(' ')[0]}`);
  return {
    command: name,
    describe,
    builder: (yargs) =>
      yargs.command(commands).demandCommand(1, `${name} needs a subcommand: ${names.join(', ')}`),
    handler: () => {},
  };
}

/** A command whose code is loaded when it runs. */
function command<Args>(
  described: Pick<Command, 'command' | 'describe'> & { readonly builder: (yargs: Argv) => Argv<Args> },
  load: () => Promise<{ run(args: Args): Promise<void> | void }>,
): Command {
  return { ...described, handler: async (args) => (await load()).run(args as Args) };
}
