import type { ComparedFigure, Comparison } from './compare.js';
import { differenceText, relativeText, valueText } from './format.js';

/**
 * A comparison for the terminal: a line for what each run was, then a table with the value of each run, and from the
 * second on the difference to the first.
 */
export function comparisonText({ runs, figures }: Comparison): string {
  const rows = [
    ['', ...runs.flatMap(({ name }, i) => (i === 0 ? [name] : [name, 'difference', '%']))],
    ...figures.filter(saysSomething).map((figure) => [figure.label, ...cellsOf(figure)]),
  ];
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
  const table = rows.map((row) =>
    row.map((cell, i) => (i === 0 ? cell.padEnd(widths[i]!) : cell.padStart(widths[i]!))).join('  '),
  );
  const nameWidth = Math.max(...runs.map(({ name }) => name.length));
  const provenance = runs.map(
    ({ name, experiment, policy, seed, digest, overrides }) =>
      `${name.padEnd(nameWidth)}  ${experiment}, policy ${policy}, seed ${seed}, digest ${digest}` +
      overrides.map((override) => ` --set ${override}`).join(''),
  );
  return `${[...provenance, '', ...table.map((line) => line.trimEnd())].join('\n')}\n`;
}

/** A count that is 0 everywhere is noise. */
export function saysSomething({ unit, values }: ComparedFigure): boolean {
  return unit !== 'count' || values.some((value) => value !== 0);
}

function cellsOf(figure: ComparedFigure): string[] {
  return figure.values.flatMap((_, i) => {
    const value = valueText(figure, i);
    return i === 0 ? [value] : [value, differenceText(figure, i), relativeText(figure, i)];
  });
}
