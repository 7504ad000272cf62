import type { Argv } from 'yargs';
import { json } from '../common-options.js';
import { type ArgsOf, group, list, required, text } from '../options.js';

const builder = (yargs: Argv) =>
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
            'for --threshold',
        ),
      }),
      ...group('Sweeps', {
        costs: text('What policies cost, as written by npm run bench -- --policies --out FILE'),
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
      ['$0 compare out/policies --costs costs.jsonl', ''],
      ['$0 compare out/autoscale', ''],
    ]);

export type CompareArgs = ArgsOf<typeof builder>;

export const compare = {
  command: 'compare <results..>',
  describe: 'Compare runs side by side, or the choices of a sweep',
  builder,
};
