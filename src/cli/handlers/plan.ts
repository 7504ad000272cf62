import { join } from 'node:path';
import { EscapementError } from '../../base/errors.js';
import { checkWritable, writeWhole } from '../../base/files/output-file.js';
import { planExperiment } from '../../run/plan/plan.js';
import type { PlanResult } from '../../run/plan/plan-result.js';
import { planText, targetCases, verdictLines } from '../../run/plan/text.js';
import { writeOut } from '../../text/terminal.js';
import type { PlanArgs } from '../commands/plan.js';
import { checkOutputFlags } from '../output-flags.js';
import { planFleetHere } from '../plan-fleet.js';
import { runPlan } from '../plan-run.js';
import { casesJson, checkCiFiles, writeCiFiles } from '../thresholds.js';
import { packageVersion } from '../version.js';

/** Values that are run first, and neighbors of the answer. */
const VALUES_BESIDES = 13;
/** Values of each round between them, which leaves a quarter. */
const VALUES_PER_ROUND = 3;

/** `escapement plan FILE`: the fewest GPUs, highest load or tightest SLO that meets a target. */
export async function run(args: PlanArgs): Promise<void> {
  const { out, html } = args;
  if (args.queue !== undefined && args.threads !== undefined) {
    throw new EscapementError(
      'E_USAGE',
      'the workers of a queue have threads of their own: leave out --threads',
    );
  }
  if (args.minimize !== undefined && args.prefer !== undefined)
    throw new EscapementError('E_USAGE', '--prefer is for plans of one key: leave it out with --minimize');
  checkOutputFlags({ html, junit: args.junit, markdown: args.markdown }, [args.file]);
  if (html !== undefined) checkWritable(html);
  checkCiFiles(args, args.target.length, 'target');
  if (args.minimize !== undefined) return planFleetHere(args);
  const plan = await planWithProgress(args);
  const json = JSON.stringify(plan);
  const cases = targetCases(plan);
  writeCiFiles(args, 'plan', plan.name, cases);
  if (out !== undefined) writeWhole(join(out, 'plan.json'), `${json}\n`);
  if (out !== undefined || html !== undefined) {
    // Charts bring half a second of libraries with them.
    const { planPage } = await import('../../run/plan/page.js');
    const page = await planPage(plan);
    if (out !== undefined) writeWhole(join(out, 'plan.html'), page);
    if (html !== undefined) writeWhole(html, page);
  }
  writeOut(args.json ? `${JSON.stringify({ ...plan, ...casesJson(cases) })}\n` : planText(plan));
  if (out !== undefined && !args.json) writeOut(`report: ${join(out, 'plan.html')}\n`);
  if (plan.outcome !== 'none') return;
  // How close the best value came is on stdout already, except with --json.
  const [verdict, closest] = verdictLines(plan);
  throw new EscapementError('E_THRESHOLD', args.json ? `${verdict}; ${closest}` : verdict!);
}

function planWithProgress(args: PlanArgs): Promise<PlanResult> {
  return runPlan(args, ({ openRunner, start, onRun }) =>
    planExperiment({
      ...{ file: args.file, over: args.over, targets: args.target, seeds: args.seeds, prefer: args.prefer },
      ...{ overrides: args.set, outDir: args.out, openRunner, fresh: args.fresh, version: packageVersion() },
      onStart: (seeds, values) =>
        start(
          seeds,
          `${values} candidate values`,
          seeds.length *
            Math.min(values, VALUES_BESIDES + VALUES_PER_ROUND * Math.ceil(Math.log2(values / 8) / 2)),
        ),
      onRun,
    }),
  );
}
