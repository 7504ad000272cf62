import { formatPercentCell } from '../../text/numbers.js';
import type { PolicyComparison } from '../policies/compare.js';
import { shareWithInterval } from '../statistics.js';
import { policyStyles, ROW_WIDTH, SMALL } from './small-multiples.js';
import { type ChartSpec, chart, GRID, INK, NAMES_AXIS } from './theme.js';

const ROW = 26;
const WIDTH = ROW_WIDTH - 240;
/** As in the charts over the conditions. */
const STRETCH = 3;

/** Every cell of every policy in one picture: one tick per cell, and the mean. */
export function policySpread(comparison: PolicyComparison, subtitle: string): ChartSpec {
  const { policies, cells, ours, bounded } = comparison;
  const styles = policyStyles(policies, ours);
  const names = policies.map(({ name }) => name);
  const ticks = cells.flatMap(({ label, results }) =>
    results.flatMap((result, i) => {
      if (result === null) return [];
      const note = `${names[i]}: ${shareWithInterval(result.share)}, ${label}`;
      return [{ policy: names[i], share: result.share.mean * 100, color: styles[i]!.color, note }];
    }),
  );
  const means = policies.map(({ name, share }, i) => ({
    policy: name,
    share: share.mean * 100,
    color: styles[i]!.color,
    label: formatPercentCell(share.mean),
  }));
  const y = {
    field: 'policy',
    type: 'nominal',
    scale: { domain: names },
    title: null,
    axis: NAMES_AXIS,
  };
  const x = {
    field: 'share',
    type: 'quantitative',
    scale: {
      type: 'pow',
      exponent: STRETCH,
      domain: [0, Math.max(100, ...ticks.map(({ share }) => share))],
      nice: false,
    },
    title: null,
    axis: { values: [0, 40, 60, 70, 80, 85, 90, 95, 100], grid: true, gridColor: GRID, labelFontSize: SMALL },
  };
  const color = { field: 'color', type: 'nominal', scale: null, legend: null };
  return chart(
    {
      title: `Goodput in percent of the ${bounded ? 'bound' : 'offered load'}, all cells`,
      subtitle,
      width: ROW_WIDTH,
    },
    {
      width: WIDTH,
      height: { step: ROW },
      layer: [
        {
          data: { values: ticks },
          mark: { type: 'tick', thickness: 1.4, size: 15, opacity: 0.5 },
          encoding: { x, y, color, tooltip: { field: 'note' } },
        },
        {
          data: { values: means },
          mark: {
            type: 'point',
            shape: 'diamond',
            filled: true,
            size: 130,
            opacity: 1,
            stroke: '#ffffff',
            strokeWidth: 1.5,
          },
          encoding: { x, y, color: { ...color } },
        },
        {
          data: { values: means },
          mark: { type: 'text', align: 'left', x: WIDTH + 14, fontSize: 12, color: INK },
          encoding: { y, text: { field: 'label' } },
        },
      ],
    },
  );
}
