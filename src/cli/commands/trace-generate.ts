import type { Argv } from 'yargs';
import { EscapementError } from '../../core/errors.js';
import { parseRate } from '../../experiment/units-text.js';
import { stream } from '../../random/streams.js';
import { generateAzureLike } from '../../workload/azure-like/generate.js';
import { writeAzure2019 } from '../../workload/trace-write.js';
import { oneValueOr, wholeNumber } from '../args.js';

/** `escapement trace generate OUT`: a synthetic day like that of Azure Functions 2019. */
export function traceGenerateCommand(cli: Argv): void {
  cli.command(
    'generate <out>',
    'Generate a trace with the statistics of Azure Functions 2019',
    (command) =>
      command
        .positional('out', { type: 'string', demandOption: true, describe: 'File to write, .csv or .csv.gz' })
        .options({
          functions: oneValueOr('300', 'Number of functions'),
          minutes: oneValueOr('120', 'Length of the trace'),
          rate: oneValueOr('100/s', 'Mean rate of all functions together'),
          seed: oneValueOr('1', 'Every random draw follows from it'),
        })
        .example('$0 trace generate trace.csv.gz --functions 300 --minutes 120', ''),
    async (args) => {
      const seed = wholeNumber(args.seed, 'seed', 0);
      const shape = {
        functions: wholeNumber(args.functions, 'functions', 1),
        minutes: wholeNumber(args.minutes, 'minutes', 1),
        ratePerS: ratePerS(args.rate),
      };
      process.stdout.write(`seed ${seed}\n`);
      const counts = generateAzureLike(shape, stream(seed, 'trace'));
      await writeAzure2019(args.out, counts, seed);
      process.stdout.write(`${shape.functions} functions, ${shape.minutes} minutes written to ${args.out}\n`);
    },
  );
}

function ratePerS(text: string): number {
  try {
    const rate = parseRate(text);
    if (rate > 0) return rate;
  } catch (error) {
    if (!(error instanceof EscapementError)) throw error;
  }
  throw new EscapementError('E_USAGE', `--rate ${text}: write a rate above 0 such as 100/s`);
}
