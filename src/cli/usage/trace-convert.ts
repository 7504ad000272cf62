import { group, required, text, whole } from '../flag.js';
import { type ArgsOf, usageOf } from '../usage.js';
import { json, overrideFlags } from './common.js';

export const usage = usageOf({
  arguments: {
    input: required(text('FILE', 'Experiment (.yaml) or trace (.csv, .csv.gz)')),
    out: required(text('FILE', 'File to write, .csv or .csv.gz')),
  },
  flags: {
    ...overrideFlags,
    ...group('Experiment', {
      models: whole(1, 'Number of models that a trace drives; an experiment has its own'),
    }),
    ...group('Output', { json }),
  },
  examples: [
    'trace convert experiments/azure.yaml arrivals.csv.gz',
    'trace convert day.csv arrivals.csv --models 15 --set slo=50ms',
  ],
  notes: ['Writes one line per arrival: arrival_ns,model_id,slo_ns, and length if inputs have lengths'],
});

export type TraceConvertArgs = ArgsOf<typeof usage>;
