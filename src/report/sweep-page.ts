import type { SweepResults } from '../metrics/results.js';
import { aggregate, commonChoice, failedCells, type Point, recommend } from './analyze.js';
import { sweepAxes } from './axes.js';
import { choiceLabel, choiceOf } from './charts/finding.js';
import { formatCount, formatFactor, formatMs, formatPercent, formatRate } from './format.js';
import { html, type Markup } from './html/markup.js';
import { gallery, type PageChart, page } from './html/page.js';
import { type CellText, type Column, code, facts, section, table } from './html/parts.js';
import { keyLabel, valueLabel, valuesLabel } from './quantity.js';
import type { Estimate } from './statistics.js';
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
  const points = aggregate(results);
  const cells = results.cells.length;
  const rates = points.map((point) => point.goodputRps.mean);
  const done = cells - failedCells(results).length;
  const gains = recommend(results).flatMap(({ improvement }) => (improvement === null ? [] : [improvement]));
  const varied = sweepAxes(results).map((axis) => `${axis.values.length} ${axis.label}`);
  return [
    ...(rates.length === 0
      ? []
      : [
          {
            label: 'Goodput, lowest to highest',
            value: `${formatRate(round3(Math.min(...rates)))}–${formatRate(round3(Math.max(...rates)))}`,
            note: 'requests/s within their SLO',
          },
        ]),
    ...(gains.length === 0
      ? []
      : [
          {
            label: 'Largest gain on default',
            value: formatFactor(Math.max(...gains)),
            note: gains.length > 1 ? `smallest: ${formatFactor(Math.min(...gains))}` : 'in goodput',
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

function bestSection(results: SweepResults): Markup {
  const recommendations = recommend(results);
  if (recommendations.length === 0) return html``;
  const common = commonChoice(results, recommendations);
  const conditions = Object.keys(recommendations[0]?.conditions ?? {});
  const columns: Column[] = [
    ...conditions.map((key) => ({ title: keyLabel(key), numeric: true })),
    { title: 'Default' },
    { title: 'Goodput (req/s)', numeric: true },
    { title: 'Attained', numeric: true },
    { title: 'Best' },
    { title: 'Goodput (req/s)', numeric: true },
    { title: 'Attained', numeric: true },
    { title: 'p99 latency', numeric: true },
    { title: 'Gain', numeric: true },
    ...(common === null ? [] : [{ title: `All at ${choiceLabel(common.choice)}`, numeric: true }]),
  ];
  const rows = recommendations.map((recommendation, i): CellText[] => {
    const same = common?.points[i]?.goodputRps;
    const { best, default: usual, improvement, choice } = recommendation;
    return [
      ...conditions.map((key) => ({ text: valueLabel(best.values[key] ?? '') })),
      { text: usual === null ? 'not run' : choiceLabel(choiceOf(usual, recommendation)) },
      { text: usual === null ? '–' : withInterval(usual.goodputRps) },
      { text: usual === null ? '–' : formatPercent(usual.sloAttainment.mean) },
      { text: choiceLabel(choice), strong: true },
      { text: withInterval(best.goodputRps) },
      { text: formatPercent(best.sloAttainment.mean) },
      { text: formatMs(best.p99Ms?.mean ?? null) },
      {
        text: improvement === null ? '–' : formatFactor(improvement),
        strong: improvement !== null && improvement >= 1.005,
      },
      ...(common === null ? [] : [{ text: same === undefined ? '–' : withInterval(same) }]),
    ];
  });
  const several = results.seeds.length > 1;
  const note = html`<p class="small">Best is the highest mean goodput; values within 0.1 % of it count as equal and the smaller one is taken. Attained is the share of offered requests answered within their SLO; latency is that of executed requests.${several ? ' ± is half of the 95 % confidence interval over seeds.' : ''}</p>`;
  const title =
    conditions.length === 0 ? 'Best value' : `Best value for each ${conditions.map(keyLabel).join(' and ')}`;
  return section(title, html`${table(columns, rows)}${note}`);
}

function pointsTable(results: SweepResults): Markup {
  const axes = sweepAxes(results);
  const columns: Column[] = [
    ...axes.map((axis) => ({ title: axis.label, numeric: axis.kind === 'number' })),
    { title: 'Goodput (req/s)', numeric: true },
    { title: 'Offered (req/s)', numeric: true },
    { title: 'Attained', numeric: true },
    { title: 'p50', numeric: true },
    { title: 'p99', numeric: true },
    { title: 'Runs', numeric: true },
  ];
  const rows = aggregate(results).map((point: Point): CellText[] => [
    ...axes.map((axis) => {
      const value = axis.values.find(({ text }) => text === point.values[axis.key]);
      return { text: value?.label ?? '', ...(axis.kind === 'number' ? { sort: value?.at ?? 0 } : {}) };
    }),
    { text: withInterval(point.goodputRps), sort: point.goodputRps.mean },
    { text: formatRate(point.offeredRps.mean), sort: point.offeredRps.mean },
    { text: formatPercent(point.sloAttainment.mean), sort: point.sloAttainment.mean },
    { text: formatMs(point.p50Ms?.mean ?? null), sort: point.p50Ms?.mean ?? -1 },
    { text: formatMs(point.p99Ms?.mean ?? null), sort: point.p99Ms?.mean ?? -1 },
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
  return html`<p>Save the experiment below as <code>experiment.yaml</code> where its relative paths hold, and run</p>
${code(sweepCommand(results))}
<p>Equal seeds and configuration give equal results on any machine, whatever the number of threads.</p>
<h3>The experiment as written</h3>
${code(results.experiment)}
<details><summary>Seeds and decision digests of all ${digests.length} finished runs</summary>
${table([{ title: 'Run' }, { title: 'Digest' }], digests)}</details>`;
}

/** The command line that makes these results from the experiment file. */
export function sweepCommand({ vary, seeds }: SweepResults): string {
  const flags = vary.map(({ key, values }) => `--vary ${quoted(`${key}=${values.join(',')}`)}`);
  return ['escapement sweep experiment.yaml', ...flags, `--seeds ${seeds.join(',')}`, '--out results'].join(
    ' \\\n  ',
  );
}

/** Quotes for a shell where a word needs them. */
function quoted(word: string): string {
  return /^[\w.,:=/+%@-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}

function withInterval({ mean, high, n }: Estimate): string {
  return n < 2
    ? formatRate(round3(mean))
    : `${formatRate(round3(mean))} ± ${formatRate(Number((high - mean).toPrecision(2)))}`;
}

function round3(value: number): number {
  return value >= 1000 ? value : Number(value.toPrecision(3));
}
