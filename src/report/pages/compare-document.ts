import type { MeasuredSummary } from '../../record/figures.js';
import { capital } from '../../text/words.js';
import {
  type ComparedFigure,
  type Comparison,
  differenceText,
  relativeText,
  valueText,
} from '../compare/compare.js';
import type { Document, Table } from '../document.js';
import { runName } from '../reproduce.js';
import { certaintyText } from '../statistics.js';
import { cautions } from './blocks.js';

/** Runs side by side. `summaries`: of the runs. */
export function compareDocument(comparison: Comparison, summaries: readonly MeasuredSummary[]): Document {
  const { runs, headlines, warnings, figures } = comparison;
  const shown = figures.filter(saysSomething);
  const columns = runs.flatMap(({ name }, i) => (i === 0 ? [name] : [name, 'difference', '%']));
  return {
    kind: 'escapement comparison',
    title: runs.map(({ name }) => name).join(' · '),
    lead: headlines.map(({ text }) => text),
    sections: [
      cautions(warnings, summaries),
      { title: 'Charts', blocks: [{ charts: true }] },
      { title: 'Runs', blocks: [{ table: runsTable(runs) }] },
      {
        title: 'Figures',
        blocks: [
          {
            text: capital(
              certaintyText(
                // Each run has a seed of its own.
                runs.length,
                figures.flatMap(({ margins }) => margins.map(overSlices)),
              ),
            ),
          },
          {
            table: {
              columns: [{ title: '' }, ...columns.map((title) => ({ title, numeric: true }))],
              rows: shown.map((figure) => [{ text: figure.label }, ...cellsOf(figure)]),
              unlimited: true,
            },
          },
        ],
      },
    ],
  };
}

function runsTable(runs: Comparison['runs']): Table {
  const titles = ['run', 'experiment', 'kind', 'policy', 'seed', 'digest', 'overrides'];
  const rows = runs.map(({ name, kind, experiment, policy, seed, digest, overrides }) => [
    ...[name, runName({ name: experiment, kind }), kind, policy ?? '–', String(seed), digest ?? '–'],
    overrides.join(', ') || '–',
  ]);
  return {
    columns: titles.map((title) => ({ title })),
    rows: rows.map((row) => row.map((text) => ({ text }))),
  };
}

const overSlices = (margin: number | null) => (margin === null ? null : { over: 'slices' as const });

/** False for a count that is 0 everywhere, and for figures that no run measured. */
function saysSomething({ unit, values }: ComparedFigure): boolean {
  return values.some((value) => value !== null && (unit !== 'count' || value !== 0));
}

function cellsOf(figure: ComparedFigure) {
  return figure.values.flatMap((_, i) => {
    const value = { text: valueText(figure, i) };
    return i === 0
      ? [value]
      : [value, { text: differenceText(figure, i) }, { text: relativeText(figure, i) }];
  });
}
