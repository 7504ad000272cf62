import { group, list, required, text } from '../flag.js';
import { type ArgsOf, usageOf } from '../usage.js';
import { json } from './common.js';

export const usage = usageOf({
  arguments: {
    results: required({
      ...list(
        'FOLDER',
        'Folders of single runs, compared with the first; or of sweeps over policy.kind, which are merged, or over scalers',
      ),
    }),
  },
  flags: {
    ...group('Runs', {
      tolerance: list(
        'TOLERANCE',
        "Exit with code 3 if a figure differs more from the first run's, e.g. 'p99=15%' or 'p99=2ms'; figures as " +
          'for --threshold',
      ),
    }),
    ...group('Sweeps', {
      costs: text('FILE', 'What policies cost, as written by npm run bench -- --policies --out FILE'),
    }),
    ...group('Output', {
      json,
      html: text(
        'FILE',
        'Also write the comparison with charts to this file',
        'for sweeps policies.html or fleets.html in the first folder',
      ),
    }),
  },
  examples: [
    'compare out/simulated out/live',
    "compare out/simulated out/live --tolerance 'goodputRps=3%' --tolerance 'p99=15%'",
    'compare out/clockwork out/fifo --html out/compared.html',
    'compare out/policies --costs costs.jsonl',
    'compare out/autoscale',
  ],
});

export type CompareArgs = ArgsOf<typeof usage>;
