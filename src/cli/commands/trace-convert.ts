import { resolve } from 'node:path';
import type { Argv } from 'yargs';
import { DISK_FILES } from '../../base/files/disk-files.js';
import { STANDARD_INPUT } from '../../base/files/standard-input.js';
import type { Experiment } from '../../config/experiment.js';
import { writeOut } from '../../text/terminal.js';
import { openTable } from '../../workload/files/layout.js';
import type { WorkloadSpec } from '../../workload/spec.js';
import { json, overrideFlags, overridesOf } from '../common-options.js';
import { type ArgsOf, group, required, text, usageError, whole } from '../options.js';

export const builder = (yargs: Argv) =>
  yargs
    .positional('input', required(text('Experiment (.yaml) or trace (.csv, .csv.gz)')))
    .positional('out', required(text('File to write, .csv or .csv.gz')))
    .options({
      ...overrideFlags,
      ...group('Experiment', {
        models: whole(1, 'Number of models that a trace drives, required for one; an experiment has its own'),
      }),
      ...group('Output', { json }),
    })
    .example([
      ['$0 trace convert experiments/azure.yaml arrivals.csv.gz', ''],
      ['$0 trace convert day.csv arrivals.csv --models 15 --set slo=50ms', ''],
    ])
    .epilogue('Writes one line per arrival: arrival_ns,model_id,slo_ns, and length if inputs have lengths');

/** `escapement trace convert IN OUT`: any workload as a plain list of arrivals. */
export async function handler(args: ArgsOf<typeof builder>): Promise<void> {
  const { loadExperiment } = await import('../../config/load.js');
  const { openWorkloads } = await import('../../config/open-workloads.js');
  const { writeArrivals } = await import('../../workload/trace-write.js');
  const overrides = overridesOf(args);
  const isExperiment = /\.ya?ml$/i.test(args.input) || args.input === STANDARD_INPUT;
  const experiment = isExperiment
    ? await loadExperiment(args.input, overrides)
    : await traceExperiment(args.input, args.models, overrides);
  const { seed } = experiment;
  if (!args.json) writeOut(`seed ${seed}\n`);
  const { source } = await openWorkloads(experiment);
  const names = experiment.models.map(({ name }) => name);
  // An index could be read as the name of another model.
  const areNumbers = names.some((name) => /^\d+$/.test(name));
  const { arrivals } = await writeArrivals(args.out, source, areNumbers ? names : undefined);
  writeOut(
    args.json
      ? `${JSON.stringify({ path: args.out, seed, arrivals })}\n`
      : `${arrivals} arrivals written to ${args.out}\n`,
  );
}

/** An experiment that only plays a trace, with arbitrary models. */
async function traceExperiment(
  path: string,
  copies: number | undefined,
  overrides: readonly string[],
): Promise<Experiment> {
  if (copies === undefined) {
    throw usageError(`${path} is a trace: --models is required, the number of models it drives`);
  }
  const { parseExperiment } = await import('../../config/load.js');
  const { header, layout, rest } = await openTable(DISK_FILES, path);
  await rest.return();
  const text = JSON.stringify({
    models: { kind: 'fit', name: 'model', parameters: 1_000_000, copies },
    workload: { kind: layout.kind, path: resolve(path) },
  });
  const experiment = await parseExperiment(text, path, overrides);
  // Models without lengths would reject them in the text.
  const workloads = experiment.workloads.map(
    (workload): WorkloadSpec =>
      workload.kind === 'azure-llm' && header.includes('ContextTokens')
        ? { ...workload, length: { kind: 'tokens', of: 'context' } }
        : workload,
  );
  return { ...experiment, workloads };
}
