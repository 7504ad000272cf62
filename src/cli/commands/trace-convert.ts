import { resolve } from 'node:path';
import type { Argv } from 'yargs';
import { EscapementError } from '../../core/errors.js';
import type { Experiment } from '../../experiment/experiment.js';
import { loadExperiment, parseExperiment } from '../../experiment/load.js';
import { openWorkloads } from '../../experiment/open-workloads.js';
import { detectLayout } from '../../workload/files/layout.js';
import { openTable } from '../../workload/files/read-table.js';
import { writeArrivals } from '../../workload/trace-write.js';
import { manyValues, oneValue, wholeNumber } from '../args.js';

/** `escapement trace convert IN OUT`: any workload as a plain list of arrivals. */
export function traceConvertCommand(cli: Argv): void {
  cli.command(
    'convert <input> <out>',
    "Write every arrival of an experiment's workload, or of a trace, as arrival_ns,model_id,slo_ns",
    (command) =>
      command
        .positional('input', {
          type: 'string',
          demandOption: true,
          describe: 'Experiment (.yaml) or trace (.csv, .csv.gz)',
        })
        .positional('out', { type: 'string', demandOption: true, describe: 'File to write, .csv or .csv.gz' })
        .options({
          models: oneValue({ describe: 'Number of models that a trace drives; an experiment has its own' }),
          set: manyValues({ describe: 'Override a key, e.g. --set workload.minutes=600:660 --set slo=50ms' }),
          seed: oneValue({ describe: 'Override the seed' }),
        })
        .example('$0 trace convert experiments/azure.yaml arrivals.csv.gz', '')
        .example('$0 trace convert day.csv arrivals.csv --models 15 --set slo=50ms', ''),
    async (args) => {
      const seed = args.seed === undefined ? [] : [`seed=${wholeNumber(args.seed, 'seed', 0)}`];
      const overrides = [...args.set, ...seed];
      const experiment = /\.ya?ml$/i.test(args.input)
        ? await loadExperiment(args.input, overrides)
        : await traceExperiment(args.input, args.models, overrides);
      process.stdout.write(`seed ${experiment.seed}\n`);
      const { source } = await openWorkloads(experiment);
      const { arrivals } = await writeArrivals(args.out, source);
      process.stdout.write(`${arrivals} arrivals written to ${args.out}\n`);
    },
  );
}

/** An experiment that does nothing but play a trace to models of no importance. */
async function traceExperiment(
  path: string,
  models: string | undefined,
  overrides: readonly string[],
): Promise<Experiment> {
  if (models === undefined) {
    throw new EscapementError('E_USAGE', `${path} is a trace: say with --models how many models it drives`);
  }
  const copies = wholeNumber(models, 'models', 1);
  const table = await openTable(path);
  const { kind } = detectLayout(table.header, path);
  await table.blocks.return();
  const text = JSON.stringify({
    models: { kind: 'fit', name: 'model', parameters: 1_000_000, copies },
    workload: { kind, path: resolve(path) },
  });
  return parseExperiment(text, path, overrides);
}
