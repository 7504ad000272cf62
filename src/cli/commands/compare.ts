import type { Argv } from 'yargs';
import { json } from '../common-options.js';
import { type ArgsOf, group, list, required, text } from '../options.js';

export const builder = (yargs: Argv) =>
  yargs
    .positional(
      'results',
      required(
        list(
          'Folders of single runs, compared with the first; or of sweeps over policy.kind, which are merged, or over scalers',
        ),
      ),
    )
    .options({
      ...group('Runs', {
        tolerance: list(
          "Exit with code 3 if a figure differs more from the first run's, e.g. 'p99=15%' or 'p99=2ms'; figures as " +
            'for --threshold, without those of parts',
        ),
      }),
      ...group('Output', {
        json,
        html: text(
          'Also write the comparison with charts to this file',
          'for sweeps policies.html or fleets.html in the first folder',
        ),
      }),
    })
    .example([
      ['$0 compare out/simulated out/live', ''],
      ["$0 compare out/simulated out/live --tolerance 'goodputRps=3%' --tolerance 'p99=15%'", ''],
      ['$0 compare out/clockwork out/fifo --html out/compared.html', ''],
      ['$0 compare out/policies', ''],
      ['$0 compare out/autoscale', ''],
    ]);

/** `escapement compare A B`: results of runs side by side; `compare SWEEP`: the policies or fleets that it varied. */
export async function handler(args: ArgsOf<typeof builder>): Promise<void> {
  const { compareFolders } = await import('../comparison.js');
  await compareFolders(args);
}
