import { FEWEST_REQUESTS } from '../../record/model-figures.js';
import type { FinishedCell, ModelFairness, SweepResults } from '../../record/results.js';
import { formatCount, formatPercent } from '../../text/numbers.js';
import { valuesLabel } from '../quantity.js';
import { fixedValues } from './axes.js';
import type { Point } from './points.js';

/** A model with a smaller share of its requests in time is starved. */
const STARVED = 0.5;

/** Starved models in some runs of one choice. */
interface Starvation {
  /** The worst-served model in any of the runs. */
  readonly name: string;
  readonly attainment: number;
  /** Largest number of models below half in any of the runs, and of models assessed there. */
  readonly below50: number;
  readonly assessed: number;
}

/** Looks for starved models in the runs of one choice, e.g. the repetitions of a point. */
function starvation(runs: readonly ModelFairness[]): Starvation | null {
  const hit = runs.filter(({ worstModel }) => worstModel !== null && worstModel.attainment < STARVED);
  if (hit.length === 0) return null;
  const lowest = hit.reduce((a, b) => (attainmentOf(b) < attainmentOf(a) ? b : a));
  const most = hit.reduce((a, b) => (b.modelsBelow50 > a.modelsBelow50 ? b : a));
  return {
    name: lowest.worstModel?.name ?? '',
    attainment: attainmentOf(lowest),
    below50: most.modelsBelow50,
    assessed: most.modelsAssessed,
  };
}

/** `30 of the 93 models with at least 20 requests get less than half of them in time, the worst (resnet50) 0 %`. */
function starvationText({ name, attainment, below50, assessed }: Starvation): string {
  const models = `${formatCount(below50)} of the ${formatCount(assessed)} models with at least ${FEWEST_REQUESTS} requests`;
  return `${models} get${below50 === 1 ? 's' : ''} less than half of them in time, the worst (${name}) ${formatPercent(attainment)}`;
}

/**
 * Models that a choice starves, where it starves most: goodput may be high because rarely requested models get nothing.
 * Empty if it starves none. `chosen`: the choice under each condition.
 */
export function starvedText(chosen: readonly (Point | null)[]): string {
  const found = chosen.flatMap((point) => {
    const starved = point === null ? null : starvation(point.cells.map(({ result }) => result.summary));
    return point === null || starved === null ? [] : [{ place: valuesLabel(point.conditions), starved }];
  });
  const [worst] = found.sort((a, b) => b.starved.below50 - a.starved.below50);
  if (worst === undefined) return '';
  return `${worst.place === '' ? 'With it' : `At ${worst.place}`}, ${starvationText(worst.starved)}.`;
}

/**
 * Starvation in a sweep: `In 12 of 28 runs some model gets less than half of its requests in time; the worst: resnet50,
 * 0 % of 35 at SLO 10 ms.` Empty if no run starves a model.
 */
export function starvedRunsText(results: SweepResults): string {
  const done = results.cells.filter((cell) => cell.status === 'done');
  const worstOf = ({ result }: FinishedCell) => result.summary.worstModel?.attainment ?? 1;
  const hit = done.filter(({ result }) => result.summary.modelsBelow50 > 0);
  if (hit.length === 0) return '';
  const lowest = hit.reduce((a, b) => (worstOf(b) < worstOf(a) ? b : a));
  const { name = '', attainment = 0, offered = 0 } = lowest.result.summary.worstModel ?? {};
  const fixed = fixedValues(results);
  const where = valuesLabel(
    Object.fromEntries(Object.entries(lowest.values).filter(([key]) => !Object.hasOwn(fixed, key))),
  );
  return `In ${hit.length} of ${done.length} runs some model gets less than half of its requests in time; the worst: ${name}, ${formatPercent(attainment)} of ${formatCount(offered)}${where === '' ? '' : ` at ${where}`}.`;
}

function attainmentOf({ worstModel }: ModelFairness): number {
  return worstModel?.attainment ?? 1;
}
