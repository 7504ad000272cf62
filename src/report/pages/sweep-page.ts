import { FEWEST_REQUESTS } from '../../record/model-figures.js';
import type { SweepResults } from '../../record/results.js';
import { formatCount, formatFactor, formatPercent, formatRate, round3 } from '../../text/numbers.js';
import { plural } from '../../text/words.js';
import { chartsLeftOut } from '../charts/chart-sets.js';
import { html, type Markup } from '../html/markup.js';
import { gallery, type PageChart, page } from '../html/page.js';
import { type CellText, type Column, code, experimentToRun, facts, section, table } from '../html/parts.js';
import { keyLabel, valueLabel, valuesLabel } from '../quantity.js';
import { commandLine, quoted, setFlags } from '../reproduce.js';
import { ONE_SAMPLE, withInterval } from '../statistics.js';
import { commonChoice, failedCells, recommend } from '../study/analyze.js';
import { fixedValues, sweepAxes } from '../study/axes.js';
import { deploymentOf } from '../study/deploy.js';
import { choiceLabel } from '../study/finding.js';
import { sweptFleets } from '../study/fleets.js';
import { aggregate, measureOf, type Point, scoreName, scoreOf } from '../study/points.js';
import { tunedDefaults } from '../study/tuned-default.js';
import { verdict } from '../study/verdict.js';
import { bestTable } from './best-table.js';
import { fleetSection } from './fleet-section.js';
import { pointsTable } from './points-table.js';
import { policyNotes } from './policy-notes.js';

/** The report of a sweep: the choice to deploy and its reasons first, then charts, tables, failures and provenance. */
export function sweepPage(results: SweepResults, charts: readonly PageChart[]): string {
  const failed = failedCells(results);
  const { title, reason } = verdict(results);
  const leftOut = chartsLeftOut(results);
  const body = html`<header>
<p class="kind">escapement sweep · ${results.name}</p>
<h1>${title}</h1>
<p>${reason}</p>
${facts(headlineFacts(results))}
${failed.length === 0 ? '' : html`<p class="alert">${failed.length} of ${plural(results.cells.length, 'cell')} failed and ${failed.length === 1 ? 'is' : 'are'} left out of every figure: <a href="#failed">see why</a>.</p>`}
${policyNotes(aggregate(results).flatMap(({ cells }) => cells.map(({ result }) => result.summary)))}</header>
${deploySection(results)}
${bestSection(results)}
${tunedSection(results)}
${fleetSection(sweptFleets(results))}
${section('Charts', html`${leftOut === '' ? '' : html`<p>${leftOut}</p>`}${gallery(charts)}`)}
${section('All combinations', html`${pointsTable(results)}<p class="small">Worst model: lowest share in time of any model with at least ${FEWEST_REQUESTS} requests; below 50 % and 90 %: how many such models got less. With several runs, the worst of them.</p>`)}
${failed.length === 0 ? '' : html`<div id="failed">${section('Failed cells', failedTable(results))}</div>`}
${section('Reproduce', reproduction(results))}`;
  return page(`${results.name}: ${title}`, body, charts.length > 0);
}

function headlineFacts(results: SweepResults) {
  const cells = results.cells.length;
  const done = cells - failedCells(results).length;
  const gains = recommend(results).flatMap(({ improvement }) => (improvement === null ? [] : [improvement]));
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
                  ? `in ${measureOf(points[0]!)}`
                  : 'in goodput',
          },
        ]),
    {
      label: 'Runs',
      value: `${formatCount(done)} of ${formatCount(cells)}`,
      note: runsNote(results),
    },
    seedsFact(results, points),
  ];
}

function seedsFact({ seeds }: SweepResults, points: readonly Point[]) {
  if (points.length > 0 && points.every((point) => point.isOneSample))
    return { label: 'Seeds', value: 'none', note: ONE_SAMPLE };
  return {
    label: seeds.length === 1 ? 'Seed' : 'Seeds',
    value: seeds.length > 4 ? formatCount(seeds.length) : seeds.join(', '),
    note: seeds.length === 1 ? 'one repetition: no confidence interval' : 'repetitions of every combination',
  };
}

/** Labels of keys with several values; others are unchanged. */
const PLURALS: Readonly<Record<string, string>> = {
  SLO: 'SLOs',
  policy: 'policies',
  load: 'loads',
  fleet: 'fleets',
};

/** `4 SLOs × 7 schedule_ahead × 1 seed`, keys with a single value, and whether some combinations are the same run. */
function runsNote(results: SweepResults): string {
  const axes = sweepAxes(results);
  const points = aggregate(results);
  const once = points.filter((point) => point.isOneSample).length;
  const seeds = once > 0 && once === points.length ? 1 : results.seeds.length;
  const grid = axes.reduce((product, { values }) => product * values.length, seeds);
  const varied = axes.map(({ label, values }) => `${values.length} ${PLURALS[label] ?? label}`);
  const fixed = valuesLabel(fixedValues(results));
  const merged = results.cells.some(({ values }) => axes.some(({ key }) => values[key] === undefined));
  return [
    [...varied, ...(once === points.length ? [] : [plural(seeds, 'seed')])].join(' × '),
    ...(once > 0 && once < points.length ? ['combinations that no seed changes run once'] : []),
    ...(merged ? ['combinations in which a value changes nothing run once'] : []),
    ...(results.cells.length < grid && !merged && (once === 0 || once === points.length)
      ? ['combinations without any GPU are left out']
      : []),
    ...(fixed === '' ? [] : [fixed]),
  ].join('; ');
}

function scoreFact(points: readonly Point[], grouped: boolean) {
  const scores = points.map(scoreOf);
  const [low, high] = [Math.min(...scores), Math.max(...scores)];
  const text = (score: number) => (grouped ? formatPercent(score) : formatRate(round3(score)));
  const [first] = points as [Point, ...Point[]];
  const ofWhat =
    first.weighted !== null
      ? 'of the weight of all requests, within the SLO'
      : 'of its requests within their SLO';
  return {
    label: `${scoreName(first)}, lowest to highest`,
    value: `${text(low)}–${text(high)}`,
    note: grouped ? ofWhat : 'requests/s within their SLO',
  };
}

function deploySection(results: SweepResults): Markup {
  const deployment = deploymentOf(results);
  if (deployment === null) return html``;
  const { flags, yaml, serve } = deployment;
  return section(
    'To deploy it',
    html`<p>As flags of <code>simulate</code> and <code>run</code>:</p>${code(flags)}
<p>In the experiment file:</p>${code(yaml)}
<p>To serve models with it, with the experiment at the end of this page saved as <code>experiment.yaml</code>; its other settings apply too:</p>${code(serve)}`,
  );
}

/** Gain of the default by tuning alone, if more than that was tried. */
function tunedSection(results: SweepResults): Markup {
  const tuned = tunedDefaults(results, recommend(results));
  const [first] = tuned;
  if (first === undefined) return html``;
  const conditions = Object.keys(first.default.conditions);
  const grouped = first.best.groups.length > 0;
  const measure = grouped ? scoreName(first.best) : 'Goodput (req/s)';
  const score = (point: Point) => (grouped ? formatPercent(scoreOf(point)) : withInterval(point.goodputRps));
  const columns: Column[] = [
    ...conditions.map((key) => ({ title: keyLabel(key), numeric: true })),
    { title: 'Default' },
    { title: measure, numeric: true },
    { title: 'Best fixed' },
    { title: measure, numeric: true },
    { title: 'Gain', numeric: true },
  ];
  const rows = tuned.map(({ default: usual, best, improvement }): CellText[] => [
    ...conditions.map((key) => ({ text: valueLabel(best.values[key] ?? '') })),
    { text: choiceLabel(usual.choice) },
    { text: score(usual) },
    { text: choiceLabel(best.choice) },
    { text: score(best) },
    { text: formatFactor(improvement) },
  ]);
  return section('What tuning the default alone achieves', table(columns, rows));
}

function bestSection(results: SweepResults): Markup {
  const recommendations = recommend(results);
  if (recommendations.length === 0) return html``;
  const conditions = Object.keys(recommendations[0]?.conditions ?? {});
  const what = recommendations.some(({ ranking }) => ranking !== 'score') ? 'Cheapest fleet' : 'Best value';
  const title = conditions.length === 0 ? what : `${what} for each ${conditions.map(keyLabel).join(' and ')}`;
  return section(title, bestTable(recommendations, commonChoice(results, recommendations)));
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
<p>${results.escapement === undefined ? '' : `It ran with escapement ${results.escapement}. `}The same seeds, configuration, profiles and version give the same results on any machine, with any number of threads.</p>
<details><summary>Seeds and decision digests of all ${digests.length} finished runs</summary>
${table([{ title: 'Run' }, { title: 'Digest' }], digests)}</details>`;
}

/** Command line that makes these results from the experiment file. */
function sweepCommand({ vary, seeds, overrides, required = [] }: SweepResults): string {
  const varied = vary.map(({ key, values }) => `--vary ${quoted(`${key}=${values.join(',')}`)}`);
  const thresholds = required.map((text) => `--threshold ${quoted(text)}`);
  return commandLine('sweep', [
    ...varied,
    ...setFlags(overrides),
    `--seeds ${seeds.join(',')}`,
    ...thresholds,
  ]);
}
