import { join } from 'node:path';
import type { Argv } from 'yargs';
import { EscapementError } from '../../base/errors.js';
import { writeWhole } from '../../base/files/output-file.js';
import type { Plan } from '../../run/plan/plan-result.js';
import { writeOut } from '../../text/terminal.js';
import { plural } from '../../text/words.js';
import type { CellRuns } from '../cell-runs.js';
import { ciFlags, experimentFile, json, plugin, queueFlags, quiet } from '../common-options.js';
import { type ArgsOf, choice, group, list, text, textOr, toggle, usageError, whole } from '../options.js';
import { checkOutputFlags } from '../output-flags.js';
import { packageVersion } from '../version.js';

export const builder = (yargs: Argv) =>
  yargs
    .positional('file', experimentFile)
    .options({
      ...group('Search', {
        target: list("What must hold, e.g. 'attainment>=99.9%'; figures as for --threshold of simulate"),
        over: text(
          'Key and range, e.g. cluster.gpus=1:64, or workload.rate=100/s:5000/s:50/s with a step; with --minimize cost one for each kind of GPUs, with commas between them',
        ),
        minimize: choice(
          ['cost'],
          'Find the cheapest fleet of several kinds of GPUs, e.g. with --over cluster.gpus.v100=0:8,cluster.gpus.t4=0:16',
        ),
        prefer: choice(['low', 'high'], 'Which value is better, where the key does not imply it'),
        seeds: textOr('1,2,3', 'Seeds to repeat every value with'),
        set: list('Override another key at every value'),
        plugin,
      }),
      ...group('Execution', {
        threads: whole(1, 'Runs at the same time', 'one per core'),
        fresh: toggle('Run again what the folder already holds'),
      }),
      ...queueFlags,
      ...group('Output', {
        json,
        out: text('Write plan.json and plan.html to this folder; an interrupted plan resumes there'),
        quiet,
      }),
      ...ciFlags,
    })
    .example([
      ["$0 plan run.yaml --target 'attainment>=0.999' --over cluster.gpus=1:64", ''],
      ["$0 plan run.yaml --target 'p99<50ms' --over workload.rate=100/s:5000/s --set slo=50ms", ''],
      [
        "$0 plan run.yaml --target 'attainment>=0.99' --minimize cost --over cluster.gpus.v100=0:8,cluster.gpus.t4=0:16",
        '',
      ],
    ])
    .epilogue(
      [
        'Finds the fewest GPUs, the highest load, the tightest SLO, or the best value of another key. Latency counts every offered request; one not answered within its SLO counts as infinitely late. Without a ' +
          'step, whole numbers are searched in steps of 1 and others in steps of about 1 %. A value meets a target if the ' +
          'whole 95 % confidence interval of the mean over the seeds does; of a run that no seed changes, such as a replayed log, ' +
          'the interval comes from its time slices and each value runs once. Exit code 3: no value meets it.',
        'With --minimize cost, fleets run from the cheapest on until one meets every target. Fleets with which no scheduler could meet a ' +
          'target on attainment, goodputRps or a percentile of latency are not run.',
      ].join('\n\n'),
    );

type Args = ArgsOf<typeof builder>;

/** Number of values run first, and of neighbours of the answer. */
const VALUES_BESIDES = 13;
/** Values per round in between, which narrows the range to a quarter. */
const VALUES_PER_ROUND = 3;

/** `escapement plan FILE`: fewest GPUs, highest load, tightest SLO or cheapest fleet that meets a target. */
export async function handler(args: Args): Promise<void> {
  const { out } = args;
  if (args.queue !== undefined && args.threads !== undefined)
    throw usageError('the workers of a queue have threads of their own: leave out --threads');
  if (args.minimize !== undefined && args.prefer !== undefined)
    throw usageError('--prefer is for plans of one key: leave it out with --minimize');
  checkOutputFlags({ junit: args.junit, markdown: args.markdown }, [args.file]);
  const { casesJson, checkCiFiles, writeCiFiles } = await import('../thresholds.js');
  checkCiFiles(args, args.target.length, 'target');
  const { runCells } = await import('../cell-runs.js');
  const kept = ({ known }: CellRuns) =>
    out === undefined
      ? 'no run is kept without --out'
      : `${known} runs are kept in ${out}; repeat the command to resume`;
  const { answerLines, planCases, planText } = await import('../../run/plan/text.js');
  const search = args.minimize === undefined ? planOfKey : planOfFleets;
  const plan = await runCells(args, { label: 'plan', noun: 'runs', kept }, (runs) => search(args, runs));
  const cases = planCases(plan);
  writeCiFiles(args, 'plan', plan.name, cases);
  let report = '';
  if (out !== undefined) {
    writeWhole(join(out, 'plan.json'), `${JSON.stringify(plan)}\n`);
    // Chart libraries take half a second to load.
    const { planPage } = await import('../../run/plan/page.js');
    writeWhole(join(out, 'plan.html'), await planPage(plan));
    report = `report: ${join(out, 'plan.html')}\n`;
  }
  writeOut(args.json ? `${JSON.stringify({ ...plan, ...casesJson(cases) })}\n` : planText(plan) + report);
  if (plan.answer !== null) return;
  // Without --json, stdout already says how close the best value came.
  throw new EscapementError('E_THRESHOLD', args.json ? answerLines(plan).join('; ') : plan.headline);
}

/** Inputs common to both kinds of plans. */
function questionOf(args: Args, runs: CellRuns) {
  const { file, over, seeds, fresh } = args;
  return {
    ...{ file, over, seeds, fresh, targets: args.target, overrides: args.set, outDir: args.out },
    ...{ openRunner: runs.openRunner, version: packageVersion() },
    onRun: (reused: boolean) => {
      runs.count({ status: 'done', reused });
      runs.show(plural(runs.known, 'run'), 0.99);
    },
  };
}

async function planOfKey(args: Args, runs: CellRuns): Promise<Plan> {
  const { planKey } = await import('../../run/plan/plan.js');
  const onStart = (seeds: readonly number[], values: number) => {
    const rounds = Math.ceil(Math.log2(values / 8) / 2);
    const expected = Math.min(values, VALUES_BESIDES + VALUES_PER_ROUND * rounds);
    const what = `seed ${seeds.join(', ')}: ${values} candidate values, ${runs.place}\n`;
    runs.begin(seeds.length * expected, what);
  };
  return planKey({ ...questionOf(args, runs), onStart }, args.prefer ?? null);
}

async function planOfFleets(args: Args, runs: CellRuns): Promise<Plan> {
  const { planFleet } = await import('../../run/plan/fleet-plan.js');
  const onStart = (seeds: readonly number[], fleets: number) =>
    runs.begin(seeds.length * fleets, `seed ${seeds.join(', ')}: ${fleets} fleets, ${runs.place}\n`);
  return planFleet({ ...questionOf(args, runs), onStart });
}
