import { offeredMs } from '../../record/figures.js';
import type { GroupSummary } from '../../record/results.js';
import { formatMs, formatPercent, formatRate, formatSlo } from '../../text/numbers.js';
import { type ChartSpec, chart, INK, MUTED, STRONG } from './theme.js';

const WIDTH = 330;
const ROW = 46;

/** Who was served in one run: the share of each group's requests that were answered in time. */
export function groupBars(groups: readonly GroupSummary[]): ChartSpec {
  const rows = groups.map((group) => ({
    name: group.name,
    share: group.attainment,
    label: formatPercent(group.attainment),
    note: noteOf(group),
  }));
  const names = rows.map(({ name }) => name);
  const y = {
    field: 'name',
    type: 'nominal',
    sort: names,
    title: null,
    axis: { domain: false, ticks: false, labelPadding: 8, labelLimit: 200 },
  };
  const x = {
    field: 'share',
    type: 'quantitative',
    title: 'answered in time',
    scale: { domain: [0, 1], nice: false },
    axis: { format: '.0%', tickCount: 5 },
  };
  const label = { type: 'text', align: 'left', x: WIDTH + 12 };
  const worst = groups.reduce((a, b) => (b.attainment < a.attainment ? b : a));
  return chart(
    {
      title: 'Share answered in time, by group',
      subtitle:
        worst.attainment === 1
          ? 'Every request was answered within its SLO'
          : `Worst: ${worst.name}, ${formatPercent(worst.attainment)}`,
      width: WIDTH + 320,
    },
    {
      width: WIDTH,
      height: { step: ROW },
      data: { values: rows },
      layer: [
        // The whole of each group, so that what is missing shows.
        {
          mark: { type: 'bar', height: 22, fill: '#ffffff', stroke: INK, strokeWidth: 1 },
          encoding: { y, x: { datum: 1, type: 'quantitative' } },
        },
        { mark: { type: 'bar', height: 22, color: STRONG }, encoding: { y, x } },
        {
          mark: { ...label, dy: -8, fontWeight: 600 },
          encoding: { y, text: { field: 'label' } },
        },
        {
          mark: { ...label, dy: 8, fontSize: 11.5, color: MUTED },
          encoding: { y, text: { field: 'note' } },
        },
      ],
    },
  );
}

function noteOf(group: GroupSummary): string {
  const { sloMs, offeredRps, goodputRps } = group;
  return [
    ...(sloMs === null ? [] : [`SLO ${formatSlo(sloMs)}`]),
    `${formatRate(goodputRps)} of ${formatRate(offeredRps)} req/s`,
    `p99 ${formatMs(offeredMs(group, 'p99'))}`,
  ].join(' · ');
}
