import { offeredMs } from '../record/figures.js';
import type { DrawnRun, GroupSummary } from '../record/results.js';
import { formatCount, formatMs, formatPercent, formatRate, formatSlo, round3 } from '../text/numbers.js';
import type { CellText, Column, Table } from './document.js';

/** Results of one part of a run's requests. */
interface Part {
  readonly name: string;
  readonly attainment: number | null;
  readonly figures: Readonly<Record<string, CellText>>;
}

/** A run's requests by one dimension. */
export interface Breakdown {
  /** `class`, `length of input`. */
  readonly dimension: string;
  /** For file names and headings. */
  readonly name: string;
  /** In the order of the run. */
  readonly parts: readonly Part[];
}

/** Breakdowns of a run, each by a dimension that its requests have. */
export function breakdownsOf({
  summary,
  groups,
  lengths = [],
}: Pick<DrawnRun, 'summary' | 'groups' | 'lengths'>): Breakdown[] {
  const { classes = [], tenants = [], kinds = [] } = summary;
  const all: Breakdown[] = [
    {
      dimension: 'group',
      name: 'groups',
      parts: groups.map((group) =>
        part(group.name, group, { SLO: { text: group.sloMs === null ? 'own' : formatSlo(group.sloMs) } }),
      ),
    },
    {
      dimension: 'class',
      name: 'classes',
      parts: classes.map((each) =>
        part(`${each.name} × ${each.weight}`, each, {
          ...shares(each.gpuShare, each.share === 0 ? null : each.share),
        }),
      ),
    },
    {
      dimension: 'tenant',
      name: 'tenants',
      parts: tenants.map((each) =>
        part(each.name, each, {
          ...shares(each.gpuShare, each.share),
          ...(each.overRate === null ? {} : { 'beyond rate': count(each.overRate) }),
          ...(each.overShare === null ? {} : { 'beyond share': count(each.overShare) }),
        }),
      ),
    },
    {
      dimension: 'length of input',
      name: 'lengths',
      parts: lengths
        .filter(({ offered }) => offered > 0)
        .map(({ length, offered, ok, attainment, executedP50Ms, executedP99Ms }) => ({
          name: `up to ${formatCount(length)}`,
          attainment,
          figures: {
            offered: count(offered),
            'in time': count(ok),
            attained: percent(attainment),
            'executed p50': ms(executedP50Ms),
            'executed p99': ms(executedP99Ms),
          },
        })),
    },
  ];
  const gpus: Breakdown = {
    dimension: 'kind of GPU',
    name: 'kinds',
    parts: kinds.map((kind) => ({
      name: kind.kind,
      attainment: null,
      figures: {
        GPUs: count(kind.gpus),
        ...(kind.gpuHours === undefined ? {} : { 'GPU-hours': { text: String(round3(kind.gpuHours)) } }),
        'in time': count(kind.ok),
        INFER: count(kind.infer),
        'EXEC busy': percent(kind.execUtilization),
        'WEIGHTS busy': percent(kind.weightsUtilization),
      },
    })),
  };
  return [...all, gpus].filter(({ parts }) => parts.length > 0);
}

/** A breakdown as a table; figures that no part has are left out. */
export function breakdownTable({ dimension, parts }: Breakdown): Table {
  const byLength = parts.map(({ figures }) => Object.keys(figures)).sort((a, b) => b.length - a.length);
  const titles = [...new Set(byLength.flat())];
  const columns: Column[] = [{ title: dimension }, ...titles.map((title) => ({ title, numeric: true }))];
  const rows = parts.map(({ name, figures }) => [
    { text: name },
    ...titles.map((title) => figures[title] ?? { text: '–', sort: -1 }),
  ]);
  return { columns, rows, sortable: true };
}

function part(name: string, figures: Omit<GroupSummary, 'name' | 'sloMs'>, more: Part['figures']): Part {
  const { offeredRps, goodputRps, attainment } = figures;
  return {
    name,
    attainment,
    figures: {
      ...more,
      'offered/s': rate(offeredRps),
      'in time/s': rate(goodputRps),
      attained: percent(attainment),
      p50: ms(offeredMs(figures, 'p50')),
      p95: ms(offeredMs(figures, 'p95')),
      p99: ms(offeredMs(figures, 'p99')),
    },
  };
}

/** Empty if a client measured. */
function shares(gpuShare: number | null, share: number | null): Part['figures'] {
  if (gpuShare === null) return {};
  return { 'GPU time': percent(gpuShare), ...(share === null ? {} : { share: percent(share) }) };
}

const cell = (format: (value: number | null) => string) => (value: number | null) => ({
  text: format(value),
  sort: value ?? -1,
});
const percent = cell(formatPercent);
const rate = cell(formatRate);
const ms = cell(formatMs);
const count = (value: number) => ({ text: formatCount(value), sort: value });
