import { ON_DISK } from '../../config/files-on-disk.js';
import { describeProfile, type Profile } from '../../config/profile.js';
import { readProfile } from '../../config/read-profile.js';
import { formatBytes } from '../../config/units-text.js';
import { table } from '../../text/table.js';
import { writeOut } from '../../text/terminal.js';
import type { ProfileShowArgs } from '../commands/profile-show.js';

/** `escapement profile show FILE`: the latencies of a profile, and where they come from. */
export async function run({ path, json }: ProfileShowArgs): Promise<void> {
  const profile = await readProfile(path, ON_DISK);
  writeOut(json ? `${JSON.stringify({ ...profile, ...describeProfile(profile) })}\n` : profileText(profile));
}

function profileText(profile: Profile): string {
  const { rows, weightsBytes, loadMs, loadBytesPerS, peakRps } = describeProfile(profile);
  const latencies = table([
    ['batch', 'ms', 'requests/s'],
    ...rows.map(({ batch, ms, throughputRps }) => [batch, ms, Math.round(throughputRps)]),
  ]);
  return [
    `${profile.name}: ${profile.precision} on ${profile.gpu} with ${profile.runtime}\n\n`,
    latencies,
    `\nweights ${formatBytes(weightsBytes)}, loaded in ${loadMs} ms (${(loadBytesPerS / 1e9).toFixed(1)} GB/s)\n`,
    `input ${formatBytes(profile.inputBytes)}, output ${formatBytes(profile.outputBytes)} per request\n`,
    `one GPU serves at most ${Math.floor(peakRps)} requests/s\n\n`,
    table(Object.entries(profile.source).map(([figure, source]) => [`source of ${figure}:`, source])),
  ].join('');
}
