import { json } from '../common-options.js';
import { group, list, required, text, type ValuesOf } from '../options.js';

export const flags = {
  results: required(
    list('Folders of single runs, compared with the first; or of one sweep over policy.kind'),
  ),
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
      'for a sweep policies.html in its folder',
    ),
  }),
};
export const examples = [
  'compare out/simulated out/live',
  "compare out/simulated out/live --tolerance 'goodputRps=3%' --tolerance 'p99=15%'",
  'compare out/clockwork out/fifo --html out/compared.html',
  'compare out/policies',
];

/** `escapement compare A B`: results of runs side by side; `compare SWEEP`: the policies that it varied. */
export async function handler(args: ValuesOf<typeof flags>): Promise<void> {
  const { compareFolders } = await import('../comparison.js');
  await compareFolders(args);
}
