import { existsSync } from 'node:fs';
import { DISK_FILES } from '../../base/files/disk-files.js';
import { writeWhole } from '../../base/files/output-file.js';
import { writeOut } from '../../text/terminal.js';
import { group, list, nsOf, option, required, text, toggle, usageError, type ValuesOf } from '../options.js';

export const flags = {
  files: required(list('Profiles and traces (of escapement import), or folders of them')),
  ...group('Options', {
    slo: option(sloText)('SLO of all requests, e.g. 50ms', '5 × batch 1 of the slowest model'),
    map: list('Profile of a model whose name in the trace is another, e.g. bert-prod=bert-base'),
    out: text.or('experiment.yaml', 'Experiment file to write'),
    force: toggle('Replace an existing file'),
    check: toggle('Simulate the first ten seconds of it'),
  }),
};
export const examples = ['init profiles arrivals.csv.gz --check'];

/** `escapement init FILE…`: an experiment with the requests and models of a user. */
export async function handler(args: ValuesOf<typeof flags>): Promise<void> {
  const { initExperiment } = await import('../../import/init/init-experiment.js');
  const { files, out, slo, force, check } = args;
  if (existsSync(out) && !force) throw usageError(`--out ${out}: already exists; --force replaces it`);
  const pairs = args.map.map((each): [string, string] => {
    const at = each.lastIndexOf('=');
    if (at < 1) throw usageError(`--map ${each}: must be TRACE=PROFILE, such as bert-prod=bert-base`);
    return [each.slice(0, at), each.slice(at + 1)];
  });
  const { text, traces, notes } = await initExperiment(DISK_FILES, files, { out, slo, map: new Map(pairs) });
  writeWhole(out, text);
  writeOut(`${out} is written\n${notes.map((note) => `  ${note}\n`).join('')}`);
  if (!check) return;
  const { loadExperiment } = await import('../../config/load.js');
  const { SIMULATED } = await import('../../run/simulated.js');
  const { oneRun } = await import('../one-run.js');
  const { readChecks } = await import('../thresholds.js');
  const checks = readChecks({ file: out, threshold: [], junit: undefined });
  const experiment = await loadExperiment(
    out,
    traces.map((_, i) => `workload.${i}.duration=10s`),
  );
  const output = { json: false, out: undefined, quiet: true };
  await oneRun('simulate', { experiment, checks }, SIMULATED, output);
}

/** The text itself, if it is a duration. */
function sloText(given: string): string {
  nsOf(given);
  return given;
}
