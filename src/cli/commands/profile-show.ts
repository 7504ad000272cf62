import type { Argv } from 'yargs';
import { formatBytes } from '../../config/units-text.js';
import { table } from '../../text/table.js';
import { writeOut } from '../../text/terminal.js';
import { json } from '../common-options.js';
import { type ArgsOf, group, required, text } from '../options.js';

export const builder = (yargs: Argv) =>
  yargs
    .positional('path', required(text('Profile (JSON)')))
    .options(group('Options', { json }))
    .example([['$0 profile show experiments/profiles/resnet50_v2.v100.json', '']]);

/** Width of the bar of the longest latency. */
const BAR_CELLS = 40;

/** `escapement profile show FILE`: latencies of a profile, and their origin. */
export async function handler({ path, json }: ArgsOf<typeof builder>): Promise<void> {
  const { describeProfile } = await import('../../config/profile.js');
  const { ON_DISK } = await import('../../config/files-on-disk.js');
  const { readProfile } = await import('../../config/read-profile.js');
  const profile = await readProfile(path, ON_DISK);
  const described = describeProfile(profile);
  if (json) {
    writeOut(`${JSON.stringify({ ...profile, ...described })}\n`);
    return;
  }
  const { rows, weightsBytes, loadMs, loadBytesPerS, peakRps } = described;
  const longestMs = Math.max(...rows.map(({ ms }) => ms));
  const latencies = rows.map(({ batch, ms, throughputRps }) => {
    const bar = '█'.repeat(Math.max(1, Math.round((ms / longestMs) * BAR_CELLS)));
    return [batch, ms, Math.round(throughputRps), bar];
  });
  const lines = [
    `${profile.name}: ${profile.precision} on ${profile.gpu} with ${profile.runtime}\n\n`,
    table([['batch', 'ms', 'requests/s', ''], ...latencies]),
    `\nweights ${formatBytes(weightsBytes)}, loaded in ${loadMs} ms (${(loadBytesPerS / 1e9).toFixed(1)} GB/s)\n`,
    `input ${formatBytes(profile.inputBytes)}, output ${formatBytes(profile.outputBytes)} per request\n`,
    `one GPU serves at most ${Math.floor(peakRps)} requests/s\n\n`,
    table(Object.entries(profile.source).map(([figure, source]) => [`source of ${figure}:`, source])),
  ];
  writeOut(lines.join(''));
}
