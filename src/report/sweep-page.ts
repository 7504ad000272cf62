import type { SweepResults } from '../metrics/results.js';
import { commonChoice, failedCells, recommend } from './analyze.js';
import { sweepAxes } from './axes.js';
import { bestTable } from './best-table.js';
import {
  formatCount,
  formatFactor,
  formatMs,
  formatPercent,
  formatRate,
  round3,
  withInterval,
} from './format.js';
import { html, type Markup } from './html/markup.js';
import { gallery, type PageChart, page } from './html/page.js';
import { type CellText, type Column, facts, section, table } from './html/parts.js';
import { aggregate, type Point, scoreOf } from './points.js';
import { keyLabel, valuesLabel } from './quantity.js';
import { commandLine, experimentToRun, quoted, setFlags } from './reproduce.js';
import { verdict } from './verdict.js';

/** The report of a sweep: what to deploy and why first, then charts, tables, failures and provenance. */
export function sweepPage(results: SweepResults, charts: readonly PageChart[]): string {
  const failed = failedCells(results);
  const { title, reason } = verdict(results);
  const body = html`<header>
<p class="kind">escapement sweep · ${results.name}</p>
<h1>${title}</h1>
<p>${reason}</p>
${facts(headlineFacts(results))}
${failed.length === 0 ? '' : html`<p class="alert">${failed.length} of ${results.cells.length} cells failed and are left out of every figure: <a href="#failed">see why</a>.</p>`}
</header>
${bestSection(results)}
${section('Charts', gallery(charts))}
${section('All combinations', pointsTable(results))}
${failed.length === 0 ? '' : html`<div id="failed">${section('Failed cells', failedTable(results))}</div>`}
${section('Reproduce', reproduction(results))}`;
  return page(`${results.name}: ${title}`, body, charts.length > 0);
}

function headlineFacts(results: SweepResults) {
  const cells = results.cells.length;
  const done = cells - failedCells(results).length;
  const gains = recommend(results).flatMap(({ improvement }) => (improvement === null ? [] : [improvement]));
  const varied = sweepAxes(results).map((axis) => `${axis.values.length} ${axis.label}`);
  const points = aggregate(results);
  const grouped = points.some(({ groups }) => groups.length > 0);
  return [
    ...(points.length === 0 ? [] : [scoreFact(points, grouped)]),
    ...(gains.length === 0
      ? []
      : [
          {
            label: 'Largest gain on default',
            value: formatFactor(Math.max(...gains)),
            note:
              gains.length > 1
                ? `smallest: ${formatFactor(Math.min(...gains))}`
                : grouped
                  ? 'in attainment of the worst group'
                  : 'in goodput',
          },
        ]),
    {
      label: 'Runs',
      value: `${formatCount(done)} of ${formatCount(cells)}`,
      note: [...varied, `${results.seeds.length} seed${results.seeds.length === 1 ? '' : 's'}`].join(' × '),
    },
    {
      label: results.seeds.length === 1 ? 'Seed' : 'Seeds',
      value: results.seeds.length > 4 ? formatCount(results.seeds.length) : results.seeds.join(', '),
      note:
        results.seeds.length === 1
          ? 'one repetition: no confidence interval'
          : 'repetitions of every combination',
    },
  ];
}

function scoreFact(points: readonly Point[], grouped: boolean) {
  const scores = points.map(scoreOf);
  const [low, high] = [Math.min(...scores), Math.max(...scores)];
  return grouped
    ? {
        label: 'Worst group, lowest to highest',
        value: `${formatPercent(low)}–${formatPercent(high)}`,
        note: 'of its requests within their SLO',
      }
    : {
        label: 'Goodput, lowest to highest',
        value: `${formatRate(round3(low))}–${formatRate(round3(high))}`,
        note: 'requests/s within their SLO',
      };
}

function bestSection(results: SweepResults): Markup {
  const recommendations = recommend(results);
  if (recommendations.length === 0) return html``;
  const conditions = Object.keys(recommendations[0]?.conditions ?? {});
  const title =
    conditions.length === 0 ? 'Best value' : `Best value for each ${conditions.map(keyLabel).join(' and ')}`;
  return section(title, bestTable(recommendations, commonChoice(results, recommendations)));
}

function pointsTable(results: SweepResults): Markup {
  const axes = sweepAxes(results);
  const points = aggregate(results);
  const groups = points[0]?.groups.map(({ name }) => name) ?? [];
  const columns: Column[] = [
    ...axes.map((axis) => ({ title: axis.label, numeric: axis.kind === 'number' })),
    { title: 'Goodput (req/s)', numeric: true },
    { title: 'Offered (req/s)', numeric: true },
    { title: 'Attained', numeric: true },
    { title: 'p50', numeric: true },
    { title: 'p99', numeric: true },
    ...groups.flatMap((name) => [
      { title: `${name} attained`, numeric: true },
      { title: `${name} p99`, numeric: true },
    ]),
    { title: 'Runs', numeric: true },
  ];
  const rows = points.map((point: Point): CellText[] => [
    ...axes.map((axis) => {
      const value = axis.values.find(({ text }) => text === point.values[axis.key]);
      return { text: value?.label ?? '', ...(axis.kind === 'number' ? { sort: value?.at ?? 0 } : {}) };
    }),
    { text: withInterval(point.goodputRps), sort: point.goodputRps.mean },
    { text: formatRate(point.offeredRps.mean), sort: point.offeredRps.mean },
    { text: formatPercent(point.sloAttainment.mean), sort: point.sloAttainment.mean },
    { text: formatMs(point.p50Ms?.mean ?? null), sort: point.p50Ms?.mean ?? -1 },
    { text: formatMs(point.p99Ms?.mean ?? null), sort: point.p99Ms?.mean ?? -1 },
    ...point.groups.flatMap(({ sloAttainment, p99Ms }) => [
      { text: formatPercent(sloAttainment.mean), sort: sloAttainment.mean },
      { text: formatMs(p99Ms?.mean ?? null), sort: p99Ms?.mean ?? -1 },
    ]),
    { text: String(point.cells.length), sort: point.cells.length },
  ]);
  return table(columns, rows, true);
}

function failedTable(results: SweepResults): Markup {
  const columns = [
    { title: 'Combination' },
    { title: 'Seed', numeric: true },
    { title: 'Code' },
    { title: 'Message' },
  ];
  const rows = failedCells(results).map(({ values, seed, code: errorCode, message }) => [
    { text: valuesLabel(values) || '–' },
    { text: String(seed) },
    { text: errorCode },
    { text: message },
  ]);
  return table(columns, rows);
}

function reproduction(results: SweepResults): Markup {
  const digests = results.cells.flatMap((cell) => {
    return cell.status === 'done' ? [[{ text: cell.id }, { text: cell.result.summary.digest }]] : [];
  });
  return html`${experimentToRun(results.experiment, sweepCommand(results))}
<p>Equal seeds and configuration give equal results on any machine, whatever the number of threads.</p>
<details><summary>Seeds and decision digests of all ${digests.length} finished runs</summary>
${table([{ title: 'Run' }, { title: 'Digest' }], digests)}</details>`;
}

/** The command line that makes these results from the experiment file. */
function sweepCommand({ vary, seeds, overrides }: SweepResults): string {
  const varied = vary.map(({ key, values }) => `--vary ${quoted(`${key}=${values.join(',')}`)}`);
  return commandLine('sweep', [...varied, ...setFlags(overrides), `--seeds ${seeds.join(',')}`]);
}
