import { formatBytes } from '../../config/units-text.js';
import { round3 } from '../../text/numbers.js';
import { table } from '../../text/table.js';
import { json, print } from '../common-options.js';
import { group, required, text, type ValuesOf } from '../options.js';

export const flags = {
  path: required(text('Profile (JSON)')),
  ...group('Options', { json }),
};
export const examples = ['profile show experiments/profiles/resnet50_v2.v100.json'];

/** Width of the bar of the longest latency. */
const BAR_CELLS = 40;

/** `escapement profile show FILE`: latencies of a profile, and their origin. */
export async function handler(args: ValuesOf<typeof flags>): Promise<void> {
  const { describeProfile } = await import('../../config/profile.js');
  const { ON_DISK } = await import('../../config/files-on-disk.js');
  const { readProfile } = await import('../../config/read-profile.js');
  const profile = await readProfile(args.path, ON_DISK);
  const described = describeProfile(profile);
  const { rows, weightsBytes, loadMs, loadBytesPerS, peakRps } = described;
  const longestMs = Math.max(...rows.map(({ ms }) => ms));
  const latencies = rows.map(({ batch, ms, throughputRps }) => {
    const bar = '█'.repeat(Math.max(1, Math.round((ms / longestMs) * BAR_CELLS)));
    return [batch, ms, Math.round(throughputRps), bar];
  });
  const { shorter = [] } = profile;
  const { assumed = [], ...sources } = profile.source;
  const lines = [
    `${profile.name}: ${[profile.precision, `on ${profile.gpu}`, `with ${profile.runtime}`].filter((one) => !/\bunknown$/.test(one)).join(' ')}\n\n`,
    shorter.length > 0
      ? `inputs of lengths ${shorter.map((one) => one.length).join(', ')} and ${profile.length}, here the longest\n\n`
      : '',
    table([['batch', 'ms', 'requests/s', ''], ...latencies]),
    `\nweights ${formatBytes(weightsBytes)}, loaded in ${round3(loadMs)} ms (${(loadBytesPerS / 1e9).toFixed(1)} GB/s)\n`,
    `input ${formatBytes(profile.inputBytes)}, output ${formatBytes(profile.outputBytes)} per request\n`,
    `one GPU serves at most ${Math.floor(peakRps)} requests/s\n\n`,
    table(Object.entries(sources).map(([figure, source]) => [`source of ${figure}:`, source])),
    ...assumed.map((text) => `guess: ${text}\n`),
  ];
  print(args, { ...profile, ...described }, () => lines.join(''));
}
