import { textWidth } from '../../text/text-width.js';
import { layoutOf, placeLabel } from '../policies/layout.js';
import type { MatrixCell } from '../policies/matrix.js';
import type { Axis } from '../study/axes.js';
import { INK, MUTED } from './theme.js';

/** Width of all small charts of a row together, with their axis, px. */
export const ROW_WIDTH = 940;
/** Gap between two small charts, px. */
export const GAP = 14;
/** Font size of labels in and around small charts, px. */
export const SMALL = 11.5;

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

/** A legend, then a line of charts for each row with marks: the same `spec` in each, with its own marks. */
export function smallMultiples<M extends Place>(
  axes: readonly Axis[],
  marks: readonly M[],
  spec: object,
  legend: object,
): object {
  const columns = columnLabels(axes);
  const rows = [...new Set(marks.map(({ row }) => row))];
  return {
    spacing: 20,
    vconcat: [
      legend,
      ...rows.map((row) => ({
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
    ],
  };
}

/** One entry of a legend: marks drawn in a box of 36 px by 18 px whose left edge is at x, middle at y, and a text. */
export interface LegendEntry {
  readonly label: string;
  readonly strong?: boolean;
  sample(x: number, y: number): object[];
}

const SAMPLE = 44;
const LINE = 20;

/** A legend over the whole width, in as many lines as it needs. */
export function legendRow(entries: readonly LegendEntry[]): object {
  let x = 0;
  let y = LINE / 2;
  const layer = entries.flatMap(({ label, strong = false, sample }) => {
    const width = SAMPLE + textWidth(label, 12, strong) + 22;
    if (x > 0 && x + width > ROW_WIDTH) {
      x = 0;
      y += LINE;
    }
    const left = x;
    x += width;
    return [
      ...sample(left, y),
      {
        mark: {
          type: 'text',
          align: 'left',
          baseline: 'middle',
          text: label,
          color: INK,
          fontSize: 12,
          fontWeight: strong ? 600 : 400,
        },
        encoding: at(left + SAMPLE, y),
      },
    ];
  });
  return { width: ROW_WIDTH - 40, height: y + LINE / 2, data: { values: [{}] }, layer };
}

/** Encoding of a place in px. */
export function at(x: number, y: number) {
  return { x: { value: x }, y: { value: y } };
}
