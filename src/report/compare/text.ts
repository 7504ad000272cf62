import { alignColumns } from '../../text/table.js';
import { COLUMNS, wrap } from '../../text/wrap.js';
import { fleetRows, fleetVerdict } from '../fleet-text.js';
import type { RankedFleet } from '../fleets.js';
import { runName } from '../run-kind.js';
import { senderFigures, senderLines } from '../senders.js';
import type { ComparedFigure, Comparison } from './compare.js';
import { differenceText, relativeText, valueText } from './format.js';

/**
 * A comparison for the terminal: changes of each run, a line on each run, then a table with the value of each run, and
 * from the second on the difference from the first.
 */
export function comparisonText({ runs, headlines, figures, fleets }: Comparison): string {
  const rows = [
    ['', ...runs.flatMap(({ name }, i) => (i === 0 ? [name] : [name, 'difference', '%']))],
    ...figures.filter(saysSomething).map((figure) => [figure.label, ...cellsOf(figure)]),
  ];
  const provenance = runs.map(({ name, experiment, kind, policy, seed, digest, overrides }) => [
    name,
    `${runName({ name: experiment, kind })}, ${kind}, ${policy === null ? '' : `policy ${policy}, `}seed ${seed}` +
      (digest === null ? '' : `, digest ${digest}`) +
      overrides.map((override) => ` --set ${override}`).join(''),
  ]);
  const changes = headlines.flatMap(({ text, fairness }) => [
    ...wrap(text, COLUMNS),
    '',
    ...(fairness === null ? [] : [...wrap(fairness.text, COLUMNS), '']),
  ]);
  return `${[...changes, ...fleetLines(fleets), ...alignColumns(provenance), certaintyOf(figures), '', ...alignColumns(rows, [0])].join('\n')}\n`;
}

/** Source of the margins of differences, for people. */
export function certaintyOf(figures: readonly ComparedFigure[]): string {
  return figures.some(({ margins }) => margins.some((margin) => margin !== null))
    ? 'one run each; ±: 95 % interval over their time slices'
    : 'one run each: nothing is known of the spread between seeds';
}

/** Fleets for the terminal: their ranking, the cheapest and its advantage, and the results of classes and tenants. */
export function fleetsText(fleets: readonly RankedFleet[]): string {
  const names = fleets.map(({ name }) => name);
  const senders = senderLines(senderFigures([{ results: fleets }]), 'fleet', names, 'seeds');
  const [first, ...others] = senders;
  return [...fleetLines(fleets), ...(first === undefined ? [] : [...others, ''])].join('\n');
}

function fleetLines(fleets: readonly RankedFleet[]): string[] {
  if (fleets.length === 0) return [];
  return [...alignColumns(fleetRows(fleets), [0]), '', ...wrap(fleetVerdict(fleets), COLUMNS), ''];
}

/** False for a count that is 0 everywhere, and for figures that no run measured. */
export function saysSomething({ unit, values }: ComparedFigure): boolean {
  return values.some((value) => value !== null && (unit !== 'count' || value !== 0));
}

function cellsOf(figure: ComparedFigure): string[] {
  return figure.values.flatMap((_, i) => {
    const value = valueText(figure, i);
    return i === 0 ? [value] : [value, differenceText(figure, i), relativeText(figure, i)];
  });
}
