import type { Argv } from 'yargs';
import { describeProfile, type Profile, readProfile } from '../../experiment/profile.js';
import { formatBytes } from '../../experiment/units-text.js';
import { table } from '../text-layout.js';
import { profileMeasureCommand } from './profile-measure.js';

/** `escapement profile …`: measure models, and look at what was measured. */
export function profileCommand(cli: Argv): void {
  cli.command('profile', 'Measure and look at model profiles', (profile) => {
    profileMeasureCommand(profile);
    return profile.demandCommand(1, 'name a subcommand: profile measure or profile show').command(
      'show <path>',
      'Print the latencies of a profile, what they mean for a GPU, and their source',
      (command) =>
        command
          .positional('path', { type: 'string', demandOption: true, describe: 'Profile (JSON)' })
          .example('$0 profile show experiments/profiles/resnet50_v2.v100.json', ''),
      async ({ path }) => {
        process.stdout.write(profileText(await readProfile(path)));
      },
    );
  });
}

function profileText(profile: Profile): string {
  const { rows, weightsBytes, loadMs, loadBytesPerS, peakRequestsPerS } = describeProfile(profile);
  const latencies = table([
    ['batch', 'ms', 'requests/s'],
    ...rows.map(({ batch, ms, requestsPerS }) => [batch, ms, Math.round(requestsPerS)]),
  ]);
  return [
    `${profile.name}: ${profile.precision} on ${profile.gpu} with ${profile.runtime}\n\n`,
    latencies,
    `\nweights ${formatBytes(weightsBytes)}, loaded in ${loadMs} ms (${(loadBytesPerS / 1e9).toFixed(1)} GB/s)\n`,
    `input ${formatBytes(profile.inputBytes)}, output ${formatBytes(profile.outputBytes)} a request\n`,
    `one GPU serves at most ${Math.floor(peakRequestsPerS)} requests/s\n\n`,
    table(Object.entries(profile.source).map(([figure, source]) => [`source of ${figure}:`, source])),
  ].join('');
}
