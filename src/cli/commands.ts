import type { Flags } from './flag.js';
import type { ArgsOf, Command, Usage } from './usage.js';

/** Commands that are used together, under a heading of the help. */
interface CommandGroup {
  readonly heading: string;
  readonly commands: readonly Command[];
}

export const COMMAND_GROUPS: readonly CommandGroup[] = [
  {
    heading: 'Simulate',
    commands: [
      command(
        'simulate',
        'Simulate one experiment',
        () => import('./usage/simulate.js'),
        () => import('./commands/simulate.js'),
      ),
      command(
        'sweep',
        'Simulate a grid of values and seeds and recommend the best',
        () => import('./usage/sweep.js'),
        () => import('./commands/sweep.js'),
      ),
      command(
        'sweep-worker',
        'Run cells of sweeps and plans on other machines',
        () => import('./usage/sweep-worker.js'),
        () => import('./commands/sweep-worker.js'),
      ),
      command(
        'plan',
        'Find the GPUs, load or SLO that just meet a target',
        () => import('./usage/plan.js'),
        () => import('./commands/plan.js'),
      ),
      command(
        'bound',
        'Print upper bounds on the goodput of any scheduler',
        () => import('./usage/bound.js'),
        () => import('./commands/bound.js'),
      ),
      command(
        'play',
        'Open a web page that runs the scheduler, to try things out',
        () => import('./usage/play.js'),
        () => import('./commands/play.js'),
      ),
      command(
        'trace info',
        'Describe a trace: rates, bursts, popularity',
        () => import('./usage/trace-info.js'),
        () => import('./commands/trace-info.js'),
      ),
      command(
        'trace generate',
        'Generate a trace like that of Azure Functions 2019',
        () => import('./usage/trace-generate.js'),
        () => import('./commands/trace-generate.js'),
      ),
      command(
        'trace convert',
        'Write the arrivals of an experiment or trace as CSV',
        () => import('./usage/trace-convert.js'),
        () => import('./commands/trace-convert.js'),
      ),
    ],
  },
  {
    heading: 'Serve',
    commands: [
      command(
        'serve',
        'Serve models over HTTP and gRPC (Open Inference Protocol)',
        () => import('./usage/serve.js'),
        () => import('./commands/serve.js'),
      ),
      command(
        'controller',
        'Serve models that workers on other machines run',
        () => import('./usage/controller.js'),
        () => import('./commands/controller.js'),
      ),
      command(
        'worker',
        'Run models on the GPUs of this machine for a controller',
        () => import('./usage/worker.js'),
        () => import('./commands/worker.js'),
      ),
      command(
        'top',
        'Show the live state of a running controller',
        () => import('./usage/top.js'),
        () => import('./commands/top.js'),
      ),
      command(
        'config',
        'Print the effective settings and where each comes from',
        () => import('./usage/config.js'),
        () => import('./commands/config.js'),
      ),
      command(
        'doctor',
        'Check that this machine can give predictable latencies',
        () => import('./usage/doctor.js'),
        () => import('./commands/doctor.js'),
      ),
      command(
        'model make',
        'Write a model with random weights, to try things out',
        () => import('./usage/model-make.js'),
        () => import('./commands/model-make.js'),
      ),
      command(
        'model list',
        'List the models of a repository',
        () => import('./usage/model-list.js'),
        () => import('./commands/model-list.js'),
      ),
      command(
        'model optimize',
        'Write the optimized files (.ort) that a device loads',
        () => import('./usage/model-optimize.js'),
        () => import('./commands/model-optimize.js'),
      ),
    ],
  },
  {
    heading: 'Measure',
    commands: [
      command(
        'run',
        'Run one experiment live, in real time on real models',
        () => import('./usage/run.js'),
        () => import('./commands/run.js'),
      ),
      command(
        'load',
        'Send the workload of an experiment to an inference server',
        () => import('./usage/load.js'),
        () => import('./commands/load.js'),
      ),
      command(
        'bench',
        'Find the bottleneck of a server, or how it scales with GPUs',
        () => import('./usage/bench.js'),
        () => import('./commands/bench.js'),
      ),
      command(
        'conform',
        'Test a server against the Open Inference Protocol',
        () => import('./usage/conform.js'),
        () => import('./commands/conform.js'),
      ),
      command(
        'profile measure',
        'Measure the latencies of models and write their profiles',
        () => import('./usage/profile-measure.js'),
        () => import('./commands/profile-measure.js'),
      ),
      command(
        'profile show',
        'Print the latencies of a profile and their sources',
        () => import('./usage/profile-show.js'),
        () => import('./commands/profile-show.js'),
      ),
    ],
  },
  {
    heading: 'Inspect',
    commands: [
      command(
        'report',
        'Draw charts and a report from the results of a run or sweep',
        () => import('./usage/report.js'),
        () => import('./commands/report.js'),
      ),
      command(
        'compare',
        'Compare runs side by side, or the choices of a sweep',
        () => import('./usage/compare.js'),
        () => import('./commands/compare.js'),
      ),
      command(
        'check',
        'Verify the summary of a run against its logs',
        () => import('./usage/check.js'),
        () => import('./commands/check.js'),
      ),
      command(
        'explain',
        'Explain from the logs why requests of a run failed',
        () => import('./usage/explain.js'),
        () => import('./commands/explain.js'),
      ),
      command(
        'replay',
        'Replay the journal of a live run through the scheduler',
        () => import('./usage/replay.js'),
        () => import('./commands/replay.js'),
      ),
    ],
  },
  {
    heading: 'Reference',
    commands: [
      command(
        'keys',
        'Describe the keys of the experiment file and the policies',
        () => import('./usage/keys.js'),
        () => import('./commands/keys.js'),
      ),
      command(
        'schema',
        'Print the JSON Schema of a file format',
        () => import('./usage/schema.js'),
        () => import('./commands/schema.js'),
      ),
      command(
        'exit-codes',
        'List the exit codes',
        () => import('./usage/exit-codes.js'),
        () => import('./commands/exit-codes.js'),
      ),
      command(
        'completion',
        'Print the completion script of bash, zsh or fish',
        () => import('./usage/completion.js'),
        () => import('./commands/completion.js'),
      ),
    ],
  },
];

export const COMMANDS: readonly Command[] = COMMAND_GROUPS.flatMap(({ commands }) => commands);

/** The first words of commands of two words, once each. */
export const FAMILIES: readonly string[] = [
  ...new Set(COMMANDS.filter(({ name }) => name.includes(' ')).map(({ name }) => name.split(' ')[0]!)),
];

function command<A extends Flags, F extends Flags>(
  name: string,
  summary: string,
  usage: () => Promise<{ readonly usage: Usage<A, F> }>,
  code: () => Promise<{ run(args: ArgsOf<Usage<A, F>>, all: readonly Command[]): Promise<void> | void }>,
): Command {
  return {
    name,
    summary,
    usage: async () => (await usage()).usage,
    run: async (args: ArgsOf<Usage<A, F>>, all) => (await code()).run(args, all),
  };
}
