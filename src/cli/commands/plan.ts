import { join } from 'node:path';
import { EscapementError } from '../../base/errors.js';
import { writeWhole } from '../../base/files/output-file.js';
import { cellFlags, ciFlags, experimentFile, json, plugin, print, quiet } from '../common-options.js';
import { choice, group, list, text, type ValuesOf } from '../options.js';
import { checkOutputFlags } from '../output-flags.js';

export const flags = {
  file: experimentFile,
  ...group('Search', {
    target: list("Condition to meet, e.g. 'attainment>=99.9%'; figures as for --threshold of simulate"),
    over: text(
      'Key and range, e.g. cluster.gpus=1:64, or workload.rate=100/s:5000/s:50/s with a step; with --minimize cost one for each kind of GPUs, with commas between them',
    ),
    minimize: choice(['cost'])(
      'Find the cheapest fleet of several kinds of GPUs, e.g. with --over cluster.gpus.v100=0:8,cluster.gpus.t4=0:16',
    ),
    survive: choice(['1'])('Also meet the target after the permanent loss of any one GPU'),
    prefer: {
      ...choice(['low', 'high'])('Which values are better, if the key does not imply it'),
      conflicts: 'minimize',
    },
    seeds: text.or('1,2,3', 'Seeds to repeat every value with, e.g. 1:3; 3 is only the seed 3'),
    set: list('Override another key at every value'),
    plugin,
  }),
  ...cellFlags(),
  ...group('Output', {
    json,
    html: text('Also run what-if scenarios of the answer, and write a page for the decision to this file'),
    out: text('Write plan.json and plan.html to this folder; an interrupted plan resumes there'),
    quiet,
  }),
  ...ciFlags('target'),
};
export const examples = [
  "plan run.yaml --target 'attainment>=0.999' --over cluster.gpus=1:64",
  "plan run.yaml --target 'p99<50ms' --over workload.rate=100/s:5000/s --set slo=50ms",
  "plan run.yaml --target 'attainment>=0.99' --minimize cost --over cluster.gpus.v100=0:8,cluster.gpus.t4=0:16",
];
export const notes = [
  'A value meets a target if the whole 95 % confidence interval of the mean over the seeds does. Without a step, whole ' +
    'numbers are searched in steps of 1 and others in steps of about 1 %. Exit code 3: no value meets it.',
  'With --minimize cost, fleets are run from the cheapest up until one meets every target. Fleets with which no scheduler ' +
    'could meet a target are skipped.',
].join('\n\n');

/** Number of values run first plus neighbors of the answer. */
const VALUES_BESIDES = 13;
/** Values per round in between; each round narrows the range to a quarter. */
const VALUES_PER_ROUND = 3;

/** `escapement plan FILE`: fewest GPUs, highest load, tightest SLO or cheapest fleet that meets a target. */
export async function handler(args: ValuesOf<typeof flags>): Promise<void> {
  const { out, html, minimize } = args;
  checkOutputFlags({ html, junit: args.junit }, [args.file]);
  const { casesJson, writeJunit } = await import('../thresholds.js');
  const { runCells } = await import('../cell-runs.js');
  const { answerLines, planCases, planText } = await import('../../run/plan/document.js');
  const words = { label: 'plan', noun: 'run', outDir: out } as const;
  const { makePlan } = await import('../../run/plan/plan.js');
  const plan = await runCells(args, words, (request, runs) =>
    makePlan({
      ...{ ...request, targets: args.target, over: args.over, asksWhatIf: html !== undefined },
      ...{ survives: args.survive !== undefined, minimize: minimize ?? null, prefer: args.prefer ?? null },
      onStart: (seeds, candidates) => {
        const rounds = Math.ceil(Math.log2(candidates / 8) / 2);
        const tried = VALUES_BESIDES + VALUES_PER_ROUND * rounds;
        const [what, expected] =
          minimize === undefined ? ['candidate values', Math.min(candidates, tried)] : ['fleets', candidates];
        const total = seeds.length * expected * (args.survive === undefined ? 1 : 2);
        runs.begin(total, `seed ${seeds.join(', ')}: ${candidates} ${what}, ${runs.place}\n`, true);
      },
    }),
  );
  const cases = planCases(plan);
  writeJunit(args, 'plan', plan.name, cases);
  let report = '';
  if (out !== undefined) {
    writeWhole(join(out, 'plan.json'), `${JSON.stringify(plan)}\n`);
  }
  for (const page of [
    ...(out === undefined ? [] : [join(out, 'plan.html')]),
    ...(html === undefined ? [] : [html]),
  ]) {
    // Chart libraries take half a second to load.
    const { planPage } = await import('../../run/plan/charts.js');
    writeWhole(page, await planPage(plan));
    report = `report: ${page}\n`;
  }
  print(args, { ...plan, ...casesJson(cases) }, () => planText(plan) + report);
  if (plan.answer !== null) return;
  // Without --json, stdout already says how close the best value came.
  throw new EscapementError('E_THRESHOLD', args.json ? answerLines(plan).join('; ') : plan.headline);
}
