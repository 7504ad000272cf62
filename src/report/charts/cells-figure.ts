import { formatPercent } from '../../text/numbers.js';
import { type ChartSpec, chart, INK, MUTED, STRONG } from './theme.js';

const WIDTH = 460;
const ROW = 44;

/** What one number of controllers makes of the same cluster. */
interface CellsRow {
  /** `4 cells`. */
  readonly name: string;
  /** Of all requests, mean over the seeds. */
  readonly attainment: number;
  /** Of each cell by itself; one value: there is one controller. */
  readonly byCell: readonly number[];
}

/** The share answered in time against the number of controllers: all cells together, and each by itself. */
export function cellsFigure(rows: readonly CellsRow[], subtitle: string): ChartSpec {
  const names = rows.map(({ name }) => name);
  const y = {
    field: 'name',
    type: 'nominal',
    sort: names,
    title: null,
    axis: { domain: false, ticks: false, labelPadding: 8 },
  };
  const x = {
    field: 'share',
    type: 'quantitative',
    title: 'answered in time',
    scale: { zero: false, nice: true },
    axis: { format: '~%', tickCount: 6 },
  };
  const single = rows.flatMap(({ name, byCell }) =>
    byCell.map((share, i) => ({ name, share, note: `cell-${i + 1} of ${name}: ${formatPercent(share)}` })),
  );
  const together = rows.map(({ name, attainment }) => ({
    ...{ name, share: attainment, label: formatPercent(attainment) },
    note: `${name}: ${formatPercent(attainment)}`,
  }));
  return chart(
    { title: 'Share answered in time, by number of cells', subtitle, width: WIDTH + 180 },
    {
      width: WIDTH,
      height: { step: ROW },
      layer: [
        {
          data: { values: single },
          mark: { type: 'tick', thickness: 2, size: 18, color: MUTED, opacity: 0.7 },
          encoding: { y, x, tooltip: { field: 'note' } },
        },
        {
          data: { values: together },
          mark: { type: 'point', filled: true, size: 90, color: STRONG, opacity: 1 },
          encoding: { y, x, tooltip: { field: 'note' } },
        },
        {
          data: { values: together },
          mark: { type: 'text', align: 'left', x: WIDTH + 12, color: INK, fontWeight: 600 },
          encoding: { y, text: { field: 'label' } },
        },
      ],
    },
  );
}
