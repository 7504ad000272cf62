import { resolve } from 'node:path';
import { EscapementError } from '../../base/errors.js';
import { DISK_FILES } from '../../base/files/disk-files.js';
import { STANDARD_INPUT } from '../../base/files/standard-input.js';
import type { Experiment } from '../../config/experiment.js';
import { loadExperiment, parseExperiment } from '../../config/load.js';
import { openWorkloads } from '../../config/open-workloads.js';
import { writeOut } from '../../text/terminal.js';
import { openTable } from '../../workload/files/layout.js';
import type { WorkloadSpec } from '../../workload/spec.js';
import { writeArrivals } from '../../workload/trace-write.js';
import type { TraceConvertArgs } from '../commands/trace-convert.js';
import { overridesOf } from '../overrides.js';

/** `escapement trace convert IN OUT`: any workload as a plain list of arrivals. */
export async function run(args: TraceConvertArgs): Promise<void> {
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

/** An experiment that only plays a trace; its models do not matter. */
async function traceExperiment(
  path: string,
  copies: number | undefined,
  overrides: readonly string[],
): Promise<Experiment> {
  if (copies === undefined) {
    throw new EscapementError(
      'E_USAGE',
      `${path} is a trace: --models is required, the number of models it drives`,
    );
  }
  const { header, layout, rest } = await openTable(DISK_FILES, path);
  await rest.return();
  const text = JSON.stringify({
    models: { kind: 'fit', name: 'model', parameters: 1_000_000, copies },
    workload: { kind: layout.kind, path: resolve(path) },
  });
  const experiment = await parseExperiment(text, path, overrides);
  // Models without lengths of their own would refuse this in the text.
  const workloads = experiment.workloads.map(
    (workload): WorkloadSpec =>
      workload.kind === 'azure-llm' && header.includes('ContextTokens')
        ? { ...workload, length: { kind: 'tokens', of: 'context' } }
        : workload,
  );
  return { ...experiment, workloads };
}
