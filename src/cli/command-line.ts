import yargs, { type Argv } from 'yargs';
import { EscapementError } from '../core/errors.js';
import { nearest } from '../experiment/nearest.js';
import { benchCommand } from './commands/bench.js';
import { boundCommand } from './commands/bound.js';
import { checkCommand } from './commands/check.js';
import { compareCommand } from './commands/compare.js';
import { configCommand } from './commands/config.js';
import { controllerCommand } from './commands/controller.js';
import { doctorCommand } from './commands/doctor.js';
import { loadCommand } from './commands/load.js';
import { modelCommand } from './commands/model.js';
import { planCommand } from './commands/plan.js';
import { profileCommand } from './commands/profile.js';
import { replayCommand } from './commands/replay.js';
import { reportCommand } from './commands/report.js';
import { runCommand } from './commands/run.js';
import { schemaCommand } from './commands/schema.js';
import { serveCommand } from './commands/serve.js';
import { simulateCommand } from './commands/simulate.js';
import { sweepCommand } from './commands/sweep.js';
import { topCommand } from './commands/top.js';
import { traceCommand } from './commands/trace.js';
import { workerCommand } from './commands/worker.js';
import { exitCodesText } from './exit-codes.js';
import { terminalWidth } from './text-layout.js';
import { packageVersion } from './version.js';

/** Parses and runs one command line. Throws `EscapementError` for whatever the operator can mend. */
export async function runCommandLine(args: readonly string[]): Promise<void> {
  const cli: Argv = yargs()
    .scriptName('escapement')
    .usage(
      '$0 <command>\n\nSchedule DNN inference to latency objectives: simulate a GPU cluster under real traffic, ' +
        'tune and compare schedulers, find out how many GPUs are needed, and serve models with what was tuned.',
    )
    .locale('en')
    .parserConfiguration({
      'dot-notation': false,
      'greedy-arrays': false,
      'boolean-negation': false,
      'camel-case-expansion': false,
    })
    .version(packageVersion())
    .help()
    .strict()
    .recommendCommands()
    .demandCommand(1, 'name a command')
    .wrap(terminalWidth())
    .epilogue(exitCodesText())
    .exitProcess(false)
    .fail((message, error) => {
      // YError: yargs' own complaints about values, and those of `coerce`.
      if (error !== undefined && error.name !== 'YError') throw error;
      throw new EscapementError('E_USAGE', usageProblem(message ?? error.message, cli));
    });
  for (const add of [
    simulateCommand,
    sweepCommand,
    planCommand,
    serveCommand,
    controllerCommand,
    workerCommand,
    benchCommand,
    runCommand,
    loadCommand,
    topCommand,
    reportCommand,
    compareCommand,
    checkCommand,
    boundCommand,
    replayCommand,
    traceCommand,
    profileCommand,
    modelCommand,
    doctorCommand,
    configCommand,
    schemaCommand,
  ]) {
    add(cli);
  }
  await cli.parseAsync(args);
}

/** yargs' complaint on one line, with the flag that was probably meant. */
function usageProblem(message: string, cli: Argv): string {
  const oneLine = message.replaceAll(/\s*\n\s*/g, ' ').trim();
  if (oneLine.startsWith('Did you mean')) return `unknown command. ${oneLine}`;
  const unknown = /^Unknown arguments?: ([^,]+)/.exec(oneLine)?.[1];
  const meant = unknown === undefined ? undefined : nearest(unknown, knownFlags(cli));
  return meant === undefined ? `${oneLine}; see --help` : `${oneLine}. Did you mean --${meant}?`;
}

/** Flags of the command that is being parsed. */
function knownFlags(cli: Argv): string[] {
  // Present in every release of yargs, absent from its types.
  const { key } = (cli as unknown as { getOptions(): { key: Record<string, unknown> } }).getOptions();
  return Object.keys(key).filter((flag) => /^[a-z]/.test(flag));
}
