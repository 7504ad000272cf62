import { FEWEST_REQUESTS } from '../../record/model-figures.js';
import { formatPercent } from '../../text/numbers.js';
import { valuesLabel } from '../quantity.js';
import { choiceLabel } from './finding.js';
import { measureOf, type Point, scoreOf } from './points.js';
import { type Starvation, starvation, starvationText } from './starved.js';

/** A choice that starves no model is worth naming if it loses no more than this. */
const SMALL_LOSS = 0.05;
/** Conditions, and other choices for them, that a sentence names. */
const MOST_NAMED = 3;

/**
 * The models that a choice starves, in all conditions, the worst first, and another choice that starves none at little
 * cost; empty where it starves none. It comes first in a verdict: goodput may be high because the models that few people
 * ask for get nothing. `chosen`: the choice under each condition; `others`: the points to choose from; `all`: also those
 * that miss the thresholds.
 */
export function starvedText(
  chosen: readonly (Point | null)[],
  others: readonly Point[],
  all: readonly Point[] = others,
): string {
  const found = chosen.flatMap((point) => {
    const starved = point === null ? null : starvedBy(point);
    return point === null || starved === null ? [] : [{ point, starved }];
  });
  const [worst, ...rest] = [...found].sort((a, b) => b.starved.below50 - a.starved.below50);
  if (worst === undefined) return '';
  const shown = rest.slice(0, MOST_NAMED).map(({ point, starved }) => {
    return `${valuesLabel(point.conditions)} (${starved.below50} of ${starved.assessed})`;
  });
  const more = rest.length - shown.length;
  const also =
    rest.length === 0 ? '' : `; also at ${shown.join(', ')}${more === 0 ? '' : ` and ${more} more`}`;
  const alternatives = found.flatMap(({ point }) => alternativeText(point, others)).slice(0, MOST_NAMED);
  const first = `It starves models${at(worst.point)}: ${starvationText(worst.starved)}${also}.`;
  return [first, ...neverServedText(worst.point, all), ...alternatives].join(' ');
}

/**
 * Models that get nothing under any choice, as those that take longer to execute than their SLO, among the worst of each
 * cell, which is all that cells keep.
 */
function neverServedText(point: Point, all: readonly Point[]): string[] {
  const here = JSON.stringify(point.conditions);
  const same = all.filter(({ conditions }) => JSON.stringify(conditions) === here);
  const cells = same.flatMap((one) => one.cells);
  const unserved = cells.map(({ result }) =>
    result.models.filter(({ ok, offered }) => ok === 0 && offered >= FEWEST_REQUESTS).map(({ name }) => name),
  );
  const names = (unserved[0] ?? []).filter((name) => unserved.every((list) => list.includes(name)));
  if (same.length < 2 || names.length === 0) return [];
  const [first] = names;
  return names.length === 1
    ? [`${first} gets nothing there under any choice.`]
    : [`${names.length} models, such as ${first}, get nothing there under any choice.`];
}

/** `At SLO 25 ms, escapement (4 ms) starves none for 0.3 % less goodput.` Nothing where that costs much. */
function alternativeText(point: Point, others: readonly Point[]): string[] {
  const here = JSON.stringify(point.conditions);
  const fair = others.filter(
    (other) => JSON.stringify(other.conditions) === here && starvedBy(other) === null,
  );
  const score = scoreOf(point);
  const [first, ...more] = fair.filter((other) => scoreOf(other) >= (1 - SMALL_LOSS) * score);
  if (first === undefined || score === 0) return [];
  const best = more.reduce((a, b) => (scoreOf(b) > scoreOf(a) ? b : a), first);
  const measure = best.groups.length > 0 ? measureOf(best) : 'goodput';
  const loss = 1 - scoreOf(best) / score;
  const cost = loss < 0.0005 ? `at the same ${measure}` : `for ${formatPercent(loss)} less ${measure}`;
  const place = at(point).trimStart();
  const sentence = `${choiceLabel(best.choice)} starves none ${cost}.`;
  return [place === '' ? sentence : `${place.replace(/^a/, 'A')}, ${sentence}`];
}

function starvedBy({ cells }: Point): Starvation | null {
  return starvation(cells.map(({ result }) => result.summary));
}

/** ` at SLO 10 ms`; empty without conditions. */
function at({ conditions }: Point): string {
  const place = valuesLabel(conditions);
  return place === '' ? '' : ` at ${place}`;
}
