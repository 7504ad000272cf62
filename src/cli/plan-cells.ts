import { join } from 'node:path';
import { EscapementError } from '../base/errors.js';
import { checkWritable, writeWhole } from '../base/files/output-file.js';
import type { CellsResult } from '../run/cells/cells-result.js';
import { planCells } from '../run/cells/plan-cells.js';
import { cellsCases, cellsText } from '../run/cells/text.js';
import { plural } from '../text/words.js';
import { checkOutputFlags } from './output-flags.js';
import { runPlan } from './plan-run.js';
import { casesJson, checkCiFiles, missedText, writeCiFiles } from './thresholds.js';
import type { PlanArgs } from './usage/plan.js';
import { packageVersion } from './version.js';

type CellsArgs = PlanArgs & { readonly cells: string };

/** `escapement plan FILE --cells N`: splits a cluster over several controllers, and shows what that costs. */
export async function planCellsHere(args: CellsArgs): Promise<void> {
  const { out, html, map } = args;
  const search = (['over', 'prefer'] as const).find((name) => args[name] !== undefined);
  if (search !== undefined) {
    throw new EscapementError('E_USAGE', `--cells searches nothing: leave out --${search}`);
  }
  // The map of --from may be replaced: it has been read by then.
  checkOutputFlags({ html, map, junit: args.junit, markdown: args.markdown }, [args.file]);
  for (const path of [html, map]) if (path !== undefined) checkWritable(path);
  checkCiFiles(args, args.target.length, 'target');
  const plan = await runPlan(args, ({ openRunner, start, onRun }) =>
    planCells({
      ...{ file: args.file, cells: args.cells, from: args.from, targets: args.target, seeds: args.seeds },
      ...{ overrides: args.set, outDir: out, openRunner, fresh: args.fresh, version: packageVersion() },
      onStart: (seeds, runs) => start(seeds, plural(runs, 'run'), runs),
      onRun,
    }),
  );
  const cases = cellsCases(plan);
  writeCiFiles(args, 'plan', plan.name, cases);
  await writeFiles(plan, args);
  const json = () => `${JSON.stringify({ ...plan, ...casesJson(cases) })}\n`;
  process.stdout.write(args.json ? json() : cellsText(plan));
  if (!args.json) process.stdout.write(filesText(plan, args));
  if (plan.chosen !== null) return;
  throw new EscapementError('E_THRESHOLD', args.json ? missedText(cases) : plan.headline);
}

async function writeFiles(plan: CellsResult, { out, html, map }: CellsArgs): Promise<void> {
  if (out !== undefined) writeWhole(join(out, 'plan.json'), `${JSON.stringify(plan)}\n`);
  if (out !== undefined || html !== undefined) {
    // Charts bring half a second of libraries with them.
    const { cellsPage } = await import('../run/cells/page.js');
    const page = await cellsPage(plan);
    if (out !== undefined) writeWhole(join(out, 'plan.html'), page);
    if (html !== undefined) writeWhole(html, page);
  }
  const chosen = plan.splits.find(({ cells }) => cells === plan.chosen);
  if (chosen === undefined) return;
  const text = `${JSON.stringify(chosen.map, null, 2)}\n`;
  for (const path of mapPaths({ out, map })) writeWhole(path, text);
}

function filesText(plan: CellsResult, { out, map }: CellsArgs): string {
  const maps = plan.chosen === null ? [] : mapPaths({ out, map }).map((path) => `map: ${path}`);
  const report = out === undefined ? [] : [`report: ${join(out, 'plan.html')}`];
  return [...maps, ...report].map((line) => `${line}\n`).join('');
}

function mapPaths({ out, map }: Pick<CellsArgs, 'out' | 'map'>): string[] {
  return [...(map === undefined ? [] : [map]), ...(out === undefined ? [] : [join(out, 'cells.json')])];
}
