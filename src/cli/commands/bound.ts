import type { Argv } from 'yargs';
import { boundOf } from '../../experiment/bound.js';
import type { Experiment } from '../../experiment/experiment.js';
import { loadExperiment } from '../../experiment/load.js';
import type { BoundFigures } from '../../metrics/results.js';
import { formatPercent, formatRate } from '../../report/format.js';
import { wrap } from '../../report/wrap.js';
import { manyValues, oneValue, wholeNumber } from '../args.js';
import { table, terminalWidth } from '../text-layout.js';

/** `escapement bound FILE`: what no scheduler could pass, for any goodput to be compared with. */
export function boundCommand(cli: Argv): void {
  cli.command(
    'bound <file>',
    'Print upper bounds on the goodput of any scheduler',
    (command) =>
      command
        .positional('file', { type: 'string', demandOption: true, describe: 'Experiment file (YAML)' })
        .options({
          set: manyValues({ describe: 'Override a key, e.g. --set slo=25ms' }),
          seed: oneValue({ describe: 'Override the seed' }),
          json: { type: 'boolean', default: false, describe: 'Print one JSON object' },
        })
        .example('$0 bound experiments/schedule-ahead.yaml --set slo=25ms', ''),
    async (args) => {
      const seed = args.seed === undefined ? [] : [`seed=${wholeNumber(args.seed, 'seed', 0)}`];
      const experiment = await loadExperiment(args.file, [...args.set, ...seed]);
      const figures = await boundOf(experiment);
      process.stdout.write(args.json ? `${JSON.stringify(figures)}\n` : boundText(experiment, figures));
    },
  );
}

function boundText({ seed, cluster }: Experiment, figures: BoundFigures): string {
  const { offeredRps, fluidRps, windowLimitedRps, pricedRps, timePricedRps, bestRps } = figures;
  const share = (rps: number) => (offeredRps === 0 ? '–' : formatPercent(rps / offeredRps));
  const row = (name: string, rps: number | null) =>
    rps === null ? [name, '–', '–'] : [name, formatRate(rps), share(rps)];
  const rows = [
    ['', 'requests/s', 'of offered'],
    row('offered', offeredRps),
    row('fluid', fluidRps),
    row('window-limited', windowLimitedRps),
    row('priced', pricedRps),
    row('time-priced', timePricedRps),
    row('bound', bestRps),
  ];
  const notes = [
    'fluid: each request takes its share of the cheapest full batch that ends within its objective.',
    'window-limited: its share of the fullest batch that the requests around it can make.',
    `priced: whole batches, and GPU time at the price that leaves least${pricedRps === null ? '; proved for one GPU only' : ''}.`,
    'time-priced: the same at a price that changes over time.',
    'bound: the smallest. No scheduler serves more within the objectives, even one that knows all requests beforehand.',
    ...(varies(cluster)
      ? [
          'Executions vary in this experiment (cluster.noise, cluster.changes); the bounds take what the profile says, and a run whose draws are short may pass them.',
        ]
      : []),
  ];
  const text = notes.flatMap((note) => wrap(note, terminalWidth())).map((line) => `${line}\n`);
  return `seed ${seed}\n\n${table(rows)}\n${text.join('')}`;
}

function varies({ noise, changes }: Experiment['cluster']): boolean {
  return (
    noise.distribution === 'profile' ||
    [noise, ...changes.map((change) => change.noise)].some(({ exec }) => exec > 0)
  );
}
