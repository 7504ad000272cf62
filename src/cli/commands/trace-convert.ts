import type { Argv } from 'yargs';
import { json, overrideFlags } from '../common-options.js';
import { type ArgsOf, group, required, text, whole } from '../options.js';

const builder = (yargs: Argv) =>
  yargs
    .positional('input', required(text('Experiment (.yaml) or trace (.csv, .csv.gz)')))
    .positional('out', required(text('File to write, .csv or .csv.gz')))
    .options({
      ...overrideFlags,
      ...group('Experiment', {
        models: whole(1, 'Number of models that a trace drives; an experiment has its own'),
      }),
      ...group('Output', { json }),
    })
    .example([
      ['$0 trace convert experiments/azure.yaml arrivals.csv.gz', ''],
      ['$0 trace convert day.csv arrivals.csv --models 15 --set slo=50ms', ''],
    ])
    .epilogue('Writes one line per arrival: arrival_ns,model_id,slo_ns, and length if inputs have lengths');

export type TraceConvertArgs = ArgsOf<typeof builder>;

export const traceConvert = {
  command: 'convert <input> <out>',
  describe: 'Write the arrivals of an experiment or trace as CSV',
  builder,
};
