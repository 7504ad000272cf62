import type { Argv, CommandModule, Options, PositionalOptions } from 'yargs';

// biome-ignore lint/suspicious/noExplicitAny: each command has arguments of its own.
export type Command = CommandModule<object, any>;

/** Exports of a command's file. */
interface CommandFile {
  /** Arguments, by their names in the usage, and options. */
  readonly flags: Readonly<Record<string, Options>>;
  /** Command lines without the name of the program. */
  readonly examples: readonly string[];
  /** End of the help. */
  readonly notes?: string;
  handler(args: never): Promise<void>;
}

/** Arguments, description and file of a command. The file is loaded only when the command runs or shows its help. */
type Row = readonly [usage: string, describe: string, load: () => Promise<CommandFile>];

/** Two-word commands, by first word. */
export const FAMILIES: Readonly<Record<string, readonly Command[]>> = {
  trace: commands([
    ['info <path>', 'Describe a trace: rates, bursts, popularity', () => import('./trace-info.js')],
    ['generate <out>', 'Generate a trace like Azure Functions 2019', () => import('./trace-generate.js')],
    ['convert <file> <out>', 'Write arrivals of an experiment as CSV', () => import('./trace-convert.js')],
  ]),
  import: commands([
    ['trace <files..>', 'Turn logs, tables and metrics into a trace', () => import('./import-trace.js')],
    [
      'profiles <files..>',
      'Turn measurements of other tools into profiles',
      () => import('./import-profiles.js'),
    ],
  ]),
  model: commands([
    ['make <architecture>', 'Write a model with random weights, for trials', () => import('./model-make.js')],
    ['list <repository>', 'List the models of a repository', () => import('./model-list.js')],
  ]),
  profile: commands([
    ['measure [path]', 'Measure models and write their profiles', () => import('./profile-measure.js')],
    ['show <path>', 'Print the latencies of a profile and their sources', () => import('./profile-show.js')],
  ]),
};

/** All commands, in the order of the help: simulate, serve, measure, inspect, look up. */
export const COMMANDS: readonly Command[] = [
  ...commands([
    ['simulate <file>', 'Simulate one experiment', () => import('./simulate.js')],
    ['sweep <file>', 'Simulate a grid of values and seeds, recommend the best', () => import('./sweep.js')],
    ['sweep-worker', 'Run cells of sweeps and plans on other machines', () => import('./sweep-worker.js')],
    [
      'plan <file>',
      'Find the fewest GPUs, highest load or tightest SLO for a target',
      () => import('./plan.js'),
    ],
    ['scenarios <file>', 'Simulate an experiment under what-if scenarios', () => import('./scenarios.js')],
    ['bound <file>', 'Print upper bounds on the goodput of any scheduler', () => import('./bound.js')],
    ['play [file]', 'Open a web page that runs the scheduler, to try things out', () => import('./play.js')],
  ]),
  family('trace', 'Describe, generate and convert traces'),
  family('import', 'Import logs and measurements of other tools'),
  ...commands([
    ['init <files..>', 'Write an experiment from imported traces and profiles', () => import('./init.js')],
    ['serve', 'Serve models over HTTP and gRPC (Open Inference Protocol)', () => import('./serve.js')],
    ['controller', 'Serve models that workers on other machines run', () => import('./controller.js')],
    ['worker', 'Run models on the GPUs of this machine for a controller', () => import('./worker.js')],
    ['top [url]', 'Show the live state of a running controller', () => import('./top.js')],
    ['config', 'Print the effective settings and where each comes from', () => import('./config.js')],
    ['doctor', 'Check that this machine can give predictable latencies', () => import('./doctor.js')],
  ]),
  family('model', 'Make and list models'),
  ...commands([
    ['run <file>', 'Run one experiment live, in real time on real models', () => import('./run.js')],
    ['load <file>', 'Send the workload of an experiment to an inference server', () => import('./load.js')],
    ['bench', 'Find the bottleneck of a server, or how it scales with GPUs', () => import('./bench.js')],
  ]),
  family('profile', 'Measure and show latency profiles'),
  ...commands([
    ['report <dir>', 'Draw charts and a report from results of a run or sweep', () => import('./report.js')],
    ['compare <results..>', 'Compare runs side by side, or choices of a sweep', () => import('./compare.js')],
    ['calibrate <runs..>', 'Bring a simulation close to a live run', () => import('./calibrate.js')],
    ['check <dir>', 'Verify the summary of a run against its logs', () => import('./check.js')],
    ['explain <dir>', 'Explain from the logs why requests of a run failed', () => import('./explain.js')],
    ['replay <file>', 'Replay the journal of a live run through the scheduler', () => import('./replay.js')],
    ['keys [prefix]', 'Describe the keys of the experiment file and the policies', () => import('./keys.js')],
    ['schema <name>', 'Print the JSON Schema of a file format', () => import('./schema.js')],
  ]),
];

function commands(rows: readonly Row[]): Command[] {
  return rows.map(([command, describe, load]) => ({
    command,
    describe,
    builder: async (yargs) => helped(yargs, command, await load()),
    handler: async (args) => (await load()).handler(args as never),
  }));
}

function helped(yargs: Argv<object>, usage: string, { flags, examples, notes = '' }: CommandFile) {
  for (const [name, option] of Object.entries(flags))
    if (new RegExp(`[<[]${name}\\b`).test(usage)) yargs.positional(name, option as PositionalOptions);
    else yargs.option(name, option);
  return yargs.example(examples.map((line) => [`$0 ${line}`, ''])).epilogue(notes);
}

function family(name: string, describe: string): Command {
  const own = [...FAMILIES[name]!];
  const names = own.map((each) => `${name} ${String(each.command).split(' ')[0]}`);
  return {
    command: name,
    describe,
    builder: (yargs) =>
      yargs.command(own).demandCommand(1, `${name} needs a subcommand: ${names.join(', ')}`),
    handler: () => {},
  };
}
