import { offeredMs } from '../../record/figures.js';
import type { ClassFigures, GroupSummary, LengthFigures, TenantFigures } from '../../record/results.js';
import { formatCount, formatMs, formatPercent, formatRate, formatSlo } from '../../text/numbers.js';
import { limitTexts } from '../hurt-text.js';
import { type ChartSpec, chart, INK, MUTED, STRONG } from './theme.js';

const WIDTH = 330;
const ROW = 46;

/** Share of requests answered in time, by group of one run. */
export function groupBars(groups: readonly GroupSummary[]): ChartSpec {
  return shareBars(
    'group',
    groups.map((group) => ({ name: group.name, share: group.attainment, note: noteOf(group) })),
  );
}

/** Share of requests answered in time, by class, with the class's part of GPU time. */
export function classBars(classes: readonly ClassFigures[]): ChartSpec {
  return shareBars(
    'class',
    classes.map((each) => ({
      name: `${each.name} × ${each.weight}`,
      share: each.attainment,
      note: `${rateOf(each)}${each.gpuShare === null ? '' : ` · ${formatPercent(each.gpuShare)} of GPU time`}`,
    })),
  );
}

/** Share of requests answered in time, by tenant, with those refused for its limits. */
export function tenantBars(tenants: readonly TenantFigures[]): ChartSpec {
  return shareBars(
    'tenant',
    tenants.map((each) => ({
      name: each.name,
      share: each.attainment,
      note: [rateOf(each), ...limitTexts(each)].join(' · '),
    })),
  );
}

/** Share of requests answered in time, by length of the input, shortest first. */
export function lengthBars(lengths: readonly LengthFigures[]): ChartSpec {
  return shareBars(
    'length of input',
    lengths
      .filter(({ offered }) => offered > 0)
      .map((each) => ({
        name: `up to ${formatCount(each.length)}`,
        share: each.attainment,
        note: `${formatCount(each.ok)} of ${formatCount(each.offered)} · executed p99 ${formatMs(each.executedP99Ms)}`,
      })),
  );
}

interface Bar {
  readonly name: string;
  /** Null: nothing was offered, which is neither all nor none of it. */
  readonly share: number | null;
  readonly note: string;
}

function shareBars(by: string, bars: readonly Bar[]): ChartSpec {
  const rows = bars.map(({ name, share, note }) =>
    share === null
      ? { name, label: 'none offered', note: '' }
      : { name, share, label: formatPercent(share), note },
  );
  const offered = { data: { values: rows.filter(({ share }) => share !== undefined) } };
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
  return chart(
    {
      title: `Share answered in time, by ${by}`,
      subtitle: worstText(bars),
      width: WIDTH + 320,
    },
    {
      width: WIDTH,
      height: { step: ROW },
      data: { values: rows },
      layer: [
        // The whole of each group, so that the missing part shows.
        {
          ...offered,
          mark: { type: 'bar', height: 22, fill: '#ffffff', stroke: INK, strokeWidth: 1 },
          encoding: { y, x: { datum: 1, type: 'quantitative' } },
        },
        { ...offered, mark: { type: 'bar', height: 22, color: STRONG }, encoding: { y, x } },
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

function worstText(bars: readonly Bar[]): string {
  const known = bars.filter(({ share }) => share !== null);
  if (known.length === 0) return 'No request was offered';
  const worst = known.reduce((a, b) => (b.share! < a.share! ? b : a));
  return worst.share === 1
    ? 'Every request was answered within its SLO'
    : `Worst: ${worst.name}, ${formatPercent(worst.share)}`;
}

function noteOf(group: GroupSummary): string {
  const { sloMs } = group;
  return [
    ...(sloMs === null ? [] : [`SLO ${formatSlo(sloMs)}`]),
    rateOf(group),
    `p99 ${formatMs(offeredMs(group, 'p99'))}`,
  ].join(' · ');
}

function rateOf({ goodputRps, offeredRps }: Pick<GroupSummary, 'goodputRps' | 'offeredRps'>): string {
  return `${formatRate(goodputRps)} of ${formatRate(offeredRps)} req/s`;
}
