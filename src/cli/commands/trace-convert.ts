import { writeOut } from '../../text/terminal.js';
import { experimentFile, json, overrideFlags, overridesOf, print } from '../common-options.js';
import { group, required, text, type ValuesOf } from '../options.js';

export const flags = {
  file: experimentFile,
  out: required(text('File to write, .csv or .csv.gz')),
  ...overrideFlags,
  ...group('Output', { json }),
};
export const examples = [
  'trace convert experiments/azure.yaml arrivals.csv.gz',
  'trace convert experiments/azure.yaml arrivals.csv --set slo=50ms',
];
export const notes =
  'Writes one line per arrival: arrival_ns,model_id,slo_ns, and length if inputs have lengths';

/** `escapement trace convert FILE OUT`: any workload as a plain list of arrivals. */
export async function handler(args: ValuesOf<typeof flags>): Promise<void> {
  const { loadExperiment } = await import('../../config/load.js');
  const { targetNames } = await import('../../config/pipelines.js');
  const { openWorkloads } = await import('../../config/open-workloads.js');
  const { writeArrivals } = await import('../../workload/trace-write.js');
  const experiment = await loadExperiment(args.file, overridesOf(args));
  const { seed } = experiment;
  if (!args.json) writeOut(`seed ${seed}\n`);
  const { source } = await openWorkloads(experiment);
  const names = targetNames(experiment.models, experiment.pipelines);
  // An index could be read as the name of another model.
  const areNumbers = names.some((name) => /^\d+$/.test(name));
  const { arrivals } = await writeArrivals(args.out, source, areNumbers ? names : undefined);
  const result = { path: args.out, seed, arrivals };
  print(args, result, () => `${arrivals} arrivals written to ${args.out}\n`);
}
