import type { Argv } from 'yargs';
import type { Experiment } from '../../config/experiment.js';
import { ratioOf } from '../../record/counted.js';
import type { BoundFigures } from '../../record/results.js';
import { formatPercent, formatRate } from '../../text/numbers.js';
import { table } from '../../text/table.js';
import { terminalWidth, writeOut } from '../../text/terminal.js';
import { wrap } from '../../text/wrap.js';
import { experimentFile, json, overrideFlags, overridesOf } from '../common-options.js';
import { type ArgsOf, group } from '../options.js';

export const builder = (yargs: Argv) =>
  yargs
    .positional('file', experimentFile)
    .options({ ...overrideFlags, ...group('Output', { json }) })
    .example([['$0 bound experiments/schedule-ahead.yaml --set slo=25ms', '']]);

/** `escapement bound FILE`: goodput that no scheduler can exceed, as a reference for any scheduler. */
export async function handler(args: ArgsOf<typeof builder>): Promise<void> {
  const { loadExperiment } = await import('../../config/load.js');
  const { boundOf } = await import('../../run/bound.js');
  const experiment = await loadExperiment(args.file, overridesOf(args));
  const { fairness } = experiment.policy.options;
  const isFair = typeof fairness === 'number' && fairness > 0;
  const figures = await boundOf(experiment, isFair ? fairness : undefined);
  writeOut(args.json ? `${JSON.stringify(figures)}\n` : boundText(experiment, figures));
}

function boundText({ seed, cluster, policy }: Experiment, figures: BoundFigures): string {
  const { offeredRps, fluidRps, windowLimitedRps, pricedRps, timePricedRps, bestRps, weightedRps, fairRps } =
    figures;
  const share = (rps: number) => formatPercent(offeredRps === null ? null : ratioOf(rps, offeredRps));
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
    ...(weightedRps === undefined ? [] : [row('weighted', weightedRps)]),
    ...(fairRps === undefined ? [] : [row('fair', fairRps)]),
  ];
  const notes = [
    'fluid: each request costs its share of the cheapest full batch that meets its SLO.',
    'window-limited: its share of the fullest batch that the requests around it can form.',
    `priced: whole batches, with GPU time at the price that gives the lowest bound${pricedRps === null ? '; proven for one GPU only' : ''}.`,
    'time-priced: the same, at a price that changes over time.',
    'bound: the lowest of them. No scheduler has a higher goodput, even one that knows all requests in advance.',
    ...(fairRps === undefined
      ? []
      : [
          `fair: the lowest for schedulers under which no model's attainment is below ${policy.options.fairness} of the overall one (policy.fairness).`,
        ]),
    ...(varies(cluster)
      ? [
          'Execution times vary in this experiment (cluster.noise, cluster.changes). The bounds use the times of the profile, so a lucky run may exceed them.',
        ]
      : []),
  ];
  const text = notes.flatMap((note) => wrap(note, terminalWidth())).map((line) => `${line}\n`);
  return `seed ${seed}\n\n${table(rows)}\n${text.join('')}`;
}

function varies({ noise, changes }: Experiment['cluster']): boolean {
  return (
    noise.distribution !== 'normal' ||
    [noise, ...changes.map((change) => change.noise)].some(({ exec }) => exec > 0)
  );
}
