import { FEWEST_REQUESTS } from '../../record/model-figures.js';
import { formatFactor, formatPercentCell, formatPoints } from '../../text/numbers.js';
import { listed, plural } from '../../text/words.js';
import { ONE_SAMPLE, percentWithInterval } from '../statistics.js';
import { isOnce, type PolicyComparison } from './compare.js';
import { lossesOf } from './losses.js';
import { type PolicyOverview, referenceOf } from './overview.js';

/** What the page answers, as a question. */
export function question({ axes, bounded, policies }: PolicyComparison): string {
  const of = bounded ? 'what any scheduler could have served' : 'the offered load';
  const list = axes.map(({ label, values }) => `${label} (${values.length})`);
  const over = list.length === 0 ? '' : ` in every combination of ${listed(list)}`;
  return `How much of ${of} do ${policies.length} policies serve within the SLO${over}?`;
}

/** The comparison in one paragraph, every figure computed from the results. */
export function findingOf(comparison: PolicyComparison): string {
  const { policies, ours, bounded } = comparison;
  const order = policies.map((_, i) => i).sort((a, b) => policies[b]!.share.mean - policies[a]!.share.mean);
  const subject = ours ?? order[0]!;
  const other = order.find((i) => i !== subject)!;
  const of = bounded ? 'the bound' : 'the offered load';
  const own = policies[subject]!;
  const next = policies[other]!;
  return [
    `Over ${cellsText(comparison)}, ${own.name} serves ${percentWithInterval(own.share)} % of ${of} on average and ${formatPercentCell(own.worst.share)} % in its worst cell (${own.worst.cell}).`,
    `The highest of the others is ${next.name} with ${percentWithInterval(next.share)} % (worst ${formatPercentCell(next.worst.share)} %).`,
    bestText(comparison, subject),
    loadsText(comparison, subject),
    fairnessText(own),
    costText(own),
  ]
    .filter((sentence) => sentence !== '')
    .join(' ');
}

/** The subtitle of the charts. */
export function shortFinding({ policies, ours, completeCells }: PolicyComparison): string {
  const ranked = [...policies].sort((a, b) => b.share.mean - a.share.mean).slice(0, 3);
  const means = ranked.map(({ name, share }) => `${name} ${formatPercentCell(share.mean)}`).join(', ');
  const best =
    ours === null
      ? ''
      : ` · ${policies[ours]!.name} unbeaten in ${policies[ours]!.bestIn} of ${completeCells} cells`;
  return `Highest means: ${means}${best}`;
}

function cellsText({ completeCells, cells }: PolicyComparison): string {
  if (isOnce({ cells })) return `${plural(completeCells, 'cell')}, each ${ONE_SAMPLE}`;
  const seeds = new Set(cells.flatMap(({ results }) => results.flatMap((result) => result?.share.n ?? [])));
  const repeats = [...seeds].sort((a, b) => a - b).join(' to ');
  return `${plural(completeCells, 'cell')} with ${repeats} ${repeats === '1' ? 'seed' : 'seeds'} each`;
}

function bestText(comparison: PolicyComparison, subject: number): string {
  const { policies, completeCells, ours } = comparison;
  const { name, bestIn } = policies[subject]!;
  const unbeaten = `${name} is unbeaten in ${bestIn} of ${completeCells} cells`;
  const [worst] = ours === null ? [] : lossesOf(comparison);
  if (worst === undefined) return `${unbeaten}.`;
  return `${unbeaten}; elsewhere it is up to ${formatPoints(worst.behind)} points behind (${worst.policy} at ${worst.cell}).`;
}

function loadsText({ policies }: PolicyComparison, subject: number): string {
  const { kind, loadsRatio } = policies[subject]!;
  const reference = policies[referenceOf(policies)];
  if (reference === undefined || loadsRatio === null || reference.kind === kind) return '';
  return `It makes ${formatFactor(loadsRatio)} the LOADs of ${reference.name}.`;
}

function fairnessText({ worstModel, cellsBelowHalf }: PolicyOverview): string {
  if (worstModel === null || cellsBelowHalf === null) return '';
  const worst = `the worst-served model gets ${formatPercentCell(worstModel)} % of the overall attainment`;
  return cellsBelowHalf === 0
    ? `No model falls below half of the overall attainment: ${worst} (models with ${FEWEST_REQUESTS} requests or more).`
    : `In ${plural(cellsBelowHalf, 'cell')} some model falls below half of the overall attainment: ${worst}.`;
}

function costText({ cost }: PolicyOverview): string {
  if (cost === null) return '';
  return `Scheduling and simulating a request takes ${cost.usPerRequest.toFixed(2)} µs, ${formatFactor(cost.ratio)} that of clockwork (at most ${formatFactor(cost.worstRatio)}).`;
}
