import type { Experiment } from '../../config/experiment.js';
import { ratioOf } from '../../record/counted.js';
import type { BoundFigures } from '../../record/results.js';
import { formatPercent, formatRate } from '../../text/numbers.js';
import { table } from '../../text/table.js';
import { terminalWidth } from '../../text/terminal.js';
import { wrap } from '../../text/wrap.js';
import { experimentFile, json, overrideFlags, overridesOf, print } from '../common-options.js';
import { group, type ValuesOf } from '../options.js';

export const flags = {
  file: experimentFile,
  ...overrideFlags,
  ...group('Output', { json }),
};
export const examples = ['bound experiments/schedule-ahead.yaml --set slo=25ms'];

/** Properties of a JSON schema. */
type Means = Readonly<Record<string, { readonly description?: string | undefined }>>;

/** `escapement bound FILE`: goodput that no scheduler can exceed, as a reference for any scheduler. */
export async function handler(args: ValuesOf<typeof flags>): Promise<void> {
  const { loadExperiment } = await import('../../config/load.js');
  const { toJSONSchema } = await import('zod');
  const { boundFiguresSchema } = await import('../../record/schema.js');
  const { boundOf } = await import('../../run/bound.js');
  const experiment = await loadExperiment(args.file, overridesOf(args));
  const { fairness } = experiment.policy.options;
  const isFair = typeof fairness === 'number' && fairness > 0;
  const figures = await boundOf(experiment, isFair ? fairness : undefined);
  const means = toJSONSchema(boundFiguresSchema).properties as Means;
  print(args, figures, () => boundText(experiment, figures, means));
}

function boundText({ seed, cluster }: Experiment, figures: BoundFigures, means: Means): string {
  const rows: string[][] = [['', 'requests/s', 'of offered']];
  const notes: string[] = [];
  for (const figure of Object.keys(figures) as (keyof BoundFigures)[]) {
    const rps = figures[figure] ?? null;
    const share = rps === null || figures.offeredRps === null ? null : ratioOf(rps, figures.offeredRps);
    const name =
      figure === 'bestRps'
        ? 'bound'
        : figure.replace(/Rps$/, '').replace(/[A-Z]/, (letter) => `-${letter.toLowerCase()}`);
    rows.push([name, formatRate(rps), formatPercent(share)]);
    // The first clause, and when there is none: the rest is about the JSON.
    const clauses = means[figure].description!.split(';').slice(0, rps === null ? 2 : 1);
    notes.push(`${name}: ${clauses.join(';').replace('; null', '; none').replace(/\.?$/, '.')}`);
  }
  if (varies(cluster))
    notes.push(
      'Execution times vary in this experiment (cluster.noise, cluster.changes). The bounds use the times of the profile, so a lucky run may exceed them.',
    );
  const text = notes.flatMap((note) => wrap(note, terminalWidth())).map((line) => `${line}\n`);
  return `seed ${seed}\n\n${table(rows)}\n${text.join('')}`;
}

function varies({ noise, changes }: Experiment['cluster']): boolean {
  return (
    noise.distribution !== 'normal' ||
    [noise, ...changes.map((change) => change.noise)].some(({ exec }) => exec > 0)
  );
}
