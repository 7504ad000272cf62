import type { Argv, CommandModule } from 'yargs';

// biome-ignore lint/suspicious/noExplicitAny: each command has arguments of its own.
export type Command = CommandModule<object, any>;

/** Two-word commands, by first word. */
export const FAMILIES: Readonly<Record<string, readonly Command[]>> = {
  trace: [
    command('info <path>', 'Describe a trace: rates, bursts, popularity', () => import('./trace-info.js')),
    command(
      'generate <out>',
      'Generate a trace like that of Azure Functions 2019',
      () => import('./trace-generate.js'),
    ),
    command(
      'convert <input> <out>',
      'Write the arrivals of an experiment or trace as CSV',
      () => import('./trace-convert.js'),
    ),
  ],
  model: [
    command(
      'make <architecture>',
      'Write a model with random weights, to try things out',
      () => import('./model-make.js'),
    ),
    command('list [repository]', 'List the models of a repository', () => import('./model-list.js')),
    command(
      'optimize [repository]',
      'Write the optimized files (.ort) that a device loads',
      () => import('./model-optimize.js'),
    ),
  ],
  profile: [
    command(
      'measure [path]',
      'Measure the latencies of models and write their profiles',
      () => import('./profile-measure.js'),
    ),
    command(
      'show <path>',
      'Print the latencies of a profile and their sources',
      () => import('./profile-show.js'),
    ),
  ],
};

/** All commands, in the order of the help: simulate, serve, measure, inspect, look up. */
export const COMMANDS: readonly Command[] = [
  command('simulate <file>', 'Simulate one experiment', () => import('./simulate.js')),
  command(
    'sweep <file>',
    'Simulate a grid of values and seeds and recommend the best',
    () => import('./sweep.js'),
  ),
  command(
    'sweep-worker',
    'Run cells of sweeps and plans on other machines',
    () => import('./sweep-worker.js'),
  ),
  command('plan <file>', 'Find the GPUs, load or SLO that just meet a target', () => import('./plan.js')),
  command('bound <file>', 'Print upper bounds on the goodput of any scheduler', () => import('./bound.js')),
  command(
    'play [file]',
    'Open a web page that runs the scheduler, to try things out',
    () => import('./play.js'),
  ),
  family('trace', 'Describe, generate and convert traces'),
  command('serve', 'Serve models over HTTP and gRPC (Open Inference Protocol)', () => import('./serve.js')),
  command('controller', 'Serve models that workers on other machines run', () => import('./controller.js')),
  command('worker', 'Run models on the GPUs of this machine for a controller', () => import('./worker.js')),
  command('top [url]', 'Show the live state of a running controller', () => import('./top.js')),
  command('config', 'Print the effective settings and where each comes from', () => import('./config.js')),
  command('doctor', 'Check that this machine can give predictable latencies', () => import('./doctor.js')),
  family('model', 'Make, list and optimize models'),
  command('run <file>', 'Run one experiment live, in real time on real models', () => import('./run.js')),
  command(
    'load <file>',
    'Send the workload of an experiment to an inference server',
    () => import('./load.js'),
  ),
  command('bench', 'Find the bottleneck of a server, or how it scales with GPUs', () => import('./bench.js')),
  family('profile', 'Measure and show latency profiles'),
  command(
    'report <dir>',
    'Draw charts and a report from the results of a run or sweep',
    () => import('./report.js'),
  ),
  command(
    'compare <results..>',
    'Compare runs side by side, or the choices of a sweep',
    () => import('./compare.js'),
  ),
  command('check <dir>', 'Verify the summary of a run against its logs', () => import('./check.js')),
  command(
    'explain <dir>',
    'Explain from the logs why requests of a run failed',
    () => import('./explain.js'),
  ),
  command(
    'replay <file>',
    'Replay the journal of a live run through the scheduler',
    () => import('./replay.js'),
  ),
  command(
    'keys [prefix]',
    'Describe the keys of the experiment file and the policies',
    () => import('./keys.js'),
  ),
  command('schema <name>', 'Print the JSON Schema of a file format', () => import('./schema.js')),
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

/** Exports of a command's file. */
interface CommandFile<Args> {
  builder(yargs: Argv): Argv<Args>;
  handler(args: Args): Promise<void> | void;
}

/** A command whose file is loaded only when it runs or shows its help. */
function command<Args>(usage: string, describe: string, load: () => Promise<CommandFile<Args>>): Command {
  return {
    command: usage,
    describe,
    builder: async (yargs) => (await load()).builder(yargs as Argv),
    handler: async (args) => (await load()).handler(args as Args),
  };
}
