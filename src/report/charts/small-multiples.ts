import { layoutOf, placeLabel } from '../policies/layout.js';
import type { MatrixCell } from '../policies/matrix.js';
import type { Axis } from '../study/axes.js';
import { INK, MUTED, seriesStyles } from './theme.js';

/** Width of all small charts of a row together, with their axis, px. */
export const ROW_WIDTH = 940;
/** Gap between two small charts, px. */
export const GAP = 14;
/** Font size of labels in and around small charts, px. */
export const SMALL = 11.5;

/** Style of each policy in every chart; ours is black. */
export function policyStyles(policies: readonly unknown[], ours: number | null) {
  return seriesStyles(policies).map((style, i) => (i === ours ? { ...style, color: INK } : style));
}

/** Place of a mark. */
interface Place {
  readonly row: string;
  readonly column: string;
}

/** The chart that contains a cell. */
export function placeOf(axes: readonly Axis[], { values }: Pick<MatrixCell, 'values'>): Place {
  const { columns, rows } = layoutOf(axes);
  return { row: placeLabel(values, rows), column: columns === null ? '' : placeLabel(values, [columns]) };
}

/** Labels of the charts side by side. */
export function columnLabels(axes: readonly Axis[]): string[] {
  const { columns } = layoutOf(axes);
  return columns?.values.map(({ text }) => placeLabel({ [columns.key]: text }, [columns])) ?? [''];
}

/** Labels along x, without the unit that all of them share, and that unit. */
export function xLabels(axes: readonly Axis[]): { readonly labels: string[]; readonly title: string } {
  const { x } = layoutOf(axes);
  if (x === null) return { labels: [''], title: '' };
  const labels = x.values.map(({ label }) => label);
  const ending = ` ${x.unit}`;
  if (x.unit === '' || !labels.every((label) => label.endsWith(ending))) return { labels, title: x.label };
  return { labels: labels.map((label) => label.slice(0, -ending.length)), title: x.title };
}

/** A line of charts for each row with marks: the same `spec` in each, with its own marks, under one legend. */
export function smallMultiples<M extends Place>(
  axes: readonly Axis[],
  marks: readonly M[],
  spec: object,
): object {
  const columns = columnLabels(axes);
  const rows = [...new Set(marks.map(({ row }) => row))];
  const shared = { color: 'shared', shape: 'shared', strokeDash: 'shared' };
  return {
    spacing: 20,
    resolve: { scale: shared, legend: shared },
    vconcat: rows.map((row) => ({
      ...(row === '' ? {} : { title: { text: row, anchor: 'start', fontSize: 13.5, offset: 6 } }),
      data: { values: marks.filter((mark) => mark.row === row) },
      spacing: GAP,
      facet: {
        column: {
          field: 'column',
          type: 'ordinal',
          sort: columns,
          title: null,
          header: { labelColor: MUTED, labelFontSize: 12, labelPadding: 4, labels: columns.length > 1 },
        },
      },
      spec,
    })),
  };
}
