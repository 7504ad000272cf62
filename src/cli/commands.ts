import type { Argv, CommandModule } from 'yargs';
import { bench } from './commands/bench.js';
import { compare } from './commands/compare.js';
import { doctor } from './commands/doctor.js';
import { load } from './commands/load.js';
import { plan } from './commands/plan.js';
import { profileMeasure } from './commands/profile-measure.js';
import { run } from './commands/run.js';
import { sweep } from './commands/sweep.js';
import { sweepWorker } from './commands/sweep-worker.js';
import { top } from './commands/top.js';

// biome-ignore lint/suspicious/noExplicitAny: each command has arguments of its own.
export type Command = CommandModule<object, any>;

/** Commands of two words, by the first. */
export const FAMILIES: Readonly<Record<string, readonly Command[]>> = {
  trace: [
    command(
      'info <path>',
      'Describe a trace: rates, bursts, popularity',
      () => import('./commands/trace-info.js'),
    ),
    command(
      'generate <out>',
      'Generate a trace like that of Azure Functions 2019',
      () => import('./commands/trace-generate.js'),
    ),
    command(
      'convert <input> <out>',
      'Write the arrivals of an experiment or trace as CSV',
      () => import('./commands/trace-convert.js'),
    ),
  ],
  model: [
    command(
      'make <architecture>',
      'Write a model with random weights, to try things out',
      () => import('./commands/model-make.js'),
    ),
    command('list [repository]', 'List the models of a repository', () => import('./commands/model-list.js')),
    command(
      'optimize [repository]',
      'Write the optimized files (.ort) that a device loads',
      () => import('./commands/model-optimize.js'),
    ),
  ],
  profile: [
    split(profileMeasure, () => import('./handlers/profile-measure.js')),
    command(
      'show <path>',
      'Print the latencies of a profile and their sources',
      () => import('./commands/profile-show.js'),
    ),
  ],
};

/** Every command, in the order of the help: simulate, serve, measure, inspect, look up. */
export const COMMANDS: readonly Command[] = [
  command('simulate <file>', 'Simulate one experiment', () => import('./commands/simulate.js')),
  split(sweep, () => import('./handlers/sweep.js')),
  split(sweepWorker, () => import('./handlers/sweep-worker.js')),
  split(plan, () => import('./handlers/plan.js')),
  command(
    'bound <file>',
    'Print upper bounds on the goodput of any scheduler',
    () => import('./commands/bound.js'),
  ),
  command(
    'play [file]',
    'Open a web page that runs the scheduler, to try things out',
    () => import('./commands/play.js'),
  ),
  family('trace', 'Describe, generate and convert traces'),
  command(
    'serve',
    'Serve models over HTTP and gRPC (Open Inference Protocol)',
    () => import('./commands/serve.js'),
  ),
  command(
    'controller',
    'Serve models that workers on other machines run',
    () => import('./commands/controller.js'),
  ),
  command(
    'worker',
    'Run models on the GPUs of this machine for a controller',
    () => import('./commands/worker.js'),
  ),
  split(top, () => import('./handlers/top.js')),
  command(
    'config',
    'Print the effective settings and where each comes from',
    () => import('./commands/config.js'),
  ),
  split(doctor, () => import('./handlers/doctor.js')),
  family('model', 'Make, list and optimize models'),
  split(run, () => import('./handlers/run.js')),
  split(load, () => import('./handlers/load.js')),
  split(bench, () => import('./handlers/bench.js')),
  family('profile', 'Measure and show latency profiles'),
  command(
    'report <dir>',
    'Draw charts and a report from the results of a run or sweep',
    () => import('./commands/report.js'),
  ),
  split(compare, () => import('./handlers/compare.js')),
  command('check <dir>', 'Verify the summary of a run against its logs', () => import('./commands/check.js')),
  command(
    'explain <dir>',
    'Explain from the logs why requests of a run failed',
    () => import('./commands/explain.js'),
  ),
  command(
    'replay <file>',
    'Replay the journal of a live run through the scheduler',
    () => import('./commands/replay.js'),
  ),
  command(
    'keys [prefix]',
    'Describe the keys of the experiment file and the policies',
    () => import('./commands/keys.js'),
  ),
  command('schema <name>', 'Print the JSON Schema of a file format', () => import('./commands/schema.js')),
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

/** What a file of a command exports. */
interface CommandFile<Args> {
  builder(yargs: Argv): Argv<Args>;
  handler(args: Args): Promise<void> | void;
}

/** A command whose file is loaded when its help is asked for or it runs. */
function command<Args>(usage: string, describe: string, load: () => Promise<CommandFile<Args>>): Command {
  return {
    command: usage,
    describe,
    builder: async (yargs) => (await load()).builder(yargs as Argv),
    handler: async (args) => (await load()).handler(args as Args),
  };
}

/** A command in two files. */
function split<Args>(
  described: Pick<Command, 'command' | 'describe'> & { readonly builder: (yargs: Argv) => Argv<Args> },
  load: () => Promise<{ run(args: Args): Promise<void> | void }>,
): Command {
  return { ...described, handler: async (args) => (await load()).run(args as Args) };
}
