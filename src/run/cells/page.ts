import { cellsFigure } from '../../report/charts/cells-figure.js';
import type { NamedChart } from '../../report/charts/chart-sets.js';
import { html } from '../../report/html/markup.js';
import { gallery, type PageChart, page } from '../../report/html/page.js';
import { experimentToRun, facts, section, table } from '../../report/html/parts.js';
import { renderSvg } from '../../report/html/render.js';
import { commandLine, quoted, setFlags } from '../../report/reproduce.js';
import { meanOf } from '../../report/statistics.js';
import { plural } from '../../text/words.js';
import type { CellsResult } from './cells-result.js';
import type { CellFigures } from './figures.js';
import { cellRows, compareRows } from './text.js';

/** A split into cells as one HTML document: the answer first, then the chart, the figures, and how to repeat it. */
export async function cellsPage(plan: CellsResult): Promise<string> {
  const charts: PageChart[] = [];
  for (const { name, spec } of cellsCharts(plan)) charts.push({ name, spec, svg: await renderSvg(spec) });
  const { name, headline, notes, experiment, escapement, splits } = plan;
  const body = html`<header>
<p class="kind">escapement plan · ${name}</p>
<h1>${headline}</h1>
${facts(headlineFacts(plan))}
${notes.map((note) => html`<p class="alert">${note}</p>\n`)}
</header>
${section('Chart', gallery(charts))}
${section('One controller against several', tableOf(compareRows(plan), 0))}
${splits.map((split) => section(`The cells of ${split.cells}`, tableOf(cellRows(split), 2)))}
${section(
  'Reproduce',
  html`${experimentToRun(experiment, cellsCommand(plan))}
<p>It ran with escapement ${escapement}.</p>`,
)}`;
  return page(`${name}: ${headline}`, body, true);
}

/** The charts of the page. */
export function cellsCharts({ whole, splits, headline }: CellsResult): NamedChart[] {
  const share = (figures: readonly CellFigures[]) => meanOf(figures.map(({ attainment }) => attainment));
  const rows = [
    { name: 'one controller', attainment: share(whole), byCell: [share(whole)] },
    ...splits.map(({ cells, figures, byCell }) => ({
      ...{ name: `${cells} cells`, attainment: share(figures), byCell: byCell.map(share) },
    })),
  ];
  return [{ name: 'cells', spec: cellsFigure(rows, `${headline}. Ticks: single cells`) }];
}

function headlineFacts({ policy, seeds, splits, gpus, models, load, chosen }: CellsResult) {
  const runs = seeds.length * (1 + splits.reduce((sum, { cells }) => sum + cells, 0));
  return [
    { label: 'Cells', value: chosen === null ? 'none' : String(chosen), note: 'in the map' },
    { label: 'Cluster', value: plural(gpus, 'GPU'), note: `${load.toFixed(1)} busy on average` },
    { label: 'Models', value: String(models), note: `policy ${policy}` },
    { label: 'Runs', value: String(runs), note: plural(seeds.length, 'seed') },
  ];
}

/** Rows of texts, the first one as header; the columns before `numeric` are words. */
function tableOf([header, ...rows]: readonly (readonly string[])[], numeric: number) {
  const columns = header!.map((title, i) => ({ title, numeric: i >= numeric }));
  return table(
    columns,
    rows.map((row) => row.map((text) => ({ text }))),
  );
}

function cellsCommand({ splits, targets, seeds, overrides }: CellsResult): string {
  return commandLine('plan', [
    `--cells ${splits.map(({ cells }) => cells).join(',')}`,
    ...targets.map(({ text }) => `--target ${quoted(text)}`),
    ...setFlags(overrides),
    `--seeds ${seeds.join(',')}`,
  ]);
}
