import { layoutOf, type PolicyComparison, placeLabel } from '../policies/compare.js';
import { clipped, shareWithInterval } from '../statistics.js';
import { linesPanel, panelGrid } from './lines.js';
import { type ChartSpec, chart, GRID, seriesStyles } from './theme.js';

/** Width of all small charts of a row together, and the height of one, px. */
const ROW_WIDTH = 940;
const HEIGHT = 190;
/** Exponent that stretches the axis near the top, where policies differ. */
const STRETCH = 3;
const TICKS = [0, 0.5, 0.7, 0.8, 0.9, 0.95, 1];

/** Goodput as a percentage of the bound: small charts with one line per policy and whiskers for the 95 % interval. */
export function policyLines(comparison: PolicyComparison, subtitle: string): ChartSpec {
  const { axes, bounded, policies, cells } = comparison;
  const { x, columns: across, rows } = layoutOf(axes);
  const names = policies.map(({ name }) => name);
  const styles = seriesStyles(names);
  const highest = cells.flatMap(({ results }) => results.map((result) => result?.share.mean ?? 0));
  const y = {
    title: null,
    scale: { type: 'pow', exponent: STRETCH, domain: [0, Math.max(1, ...highest)], nice: false },
    axis: { values: TICKS, format: '~%', gridColor: GRID, labelOverlap: false },
  };
  const outer = across === null ? rows : [...rows, across];
  const titles = [...new Set(cells.map(({ values }) => placeLabel(values, outer)))];
  const columns = across?.values.length ?? 1;
  const panels = titles.map((title) => {
    const points = cells
      .filter(({ values }) => placeLabel(values, outer) === title)
      .flatMap(({ values, results, label }) =>
        results.map((result, i) => {
          const place = x?.values.find(({ text }) => text === values[x.key]);
          const note = `${names[i]}: ${shareWithInterval(result?.share ?? null)}, ${label}`;
          const at = x?.kind === 'number' && place?.isWord === false ? place.at : null;
          const figure = result && clipped(result.share, 1);
          return { at, name: place?.label ?? '', series: names[i]!, figure, note };
        }),
      );
    const { spec } = linesPanel({
      ...{ width: Math.floor(Math.min(420, ROW_WIDTH / columns - 54)), height: HEIGHT, y, points },
      x: { label: '', title: null, names: x?.values.map(({ label }) => label) ?? [] },
      series: { names, styles },
    });
    return { title, spec };
  });
  const against = x === null ? '' : `, against ${x.title}`;
  const title = `Goodput in percent of the ${bounded ? 'bound' : 'offered load'}${against}`;
  return chart({ title, subtitle, width: ROW_WIDTH }, panelGrid(panels, columns));
}
