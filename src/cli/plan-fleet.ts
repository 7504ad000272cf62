import { join } from 'node:path';
import { EscapementError } from '../base/errors.js';
import { writeWhole } from '../base/files/output-file.js';
import { planFleet } from '../run/plan/fleet-plan.js';
import type { FleetPlan } from '../run/plan/fleet-result.js';
import { fleetCases, fleetText, verdictOfFleets } from '../run/plan/fleet-text.js';
import { writeOut } from '../text/terminal.js';
import type { PlanArgs } from './commands/plan.js';
import { runPlan } from './plan-run.js';
import { casesJson, writeCiFiles } from './thresholds.js';
import { packageVersion } from './version.js';

/** `escapement plan FILE --minimize cost`: the cheapest fleet of several kinds of GPUs that meets a target. */
export async function planFleetHere(args: PlanArgs): Promise<void> {
  const { out, html } = args;
  const plan = await planWithProgress(args);
  const json = JSON.stringify(plan);
  const cases = fleetCases(plan);
  writeCiFiles(args, 'plan', plan.name, cases);
  if (out !== undefined) writeWhole(join(out, 'plan.json'), `${json}\n`);
  if (out !== undefined || html !== undefined) {
    // Charts bring half a second of libraries with them.
    const { fleetPage } = await import('../run/plan/fleet-page.js');
    const page = await fleetPage(plan);
    if (out !== undefined) writeWhole(join(out, 'plan.html'), page);
    if (html !== undefined) writeWhole(html, page);
  }
  writeOut(args.json ? `${JSON.stringify({ ...plan, ...casesJson(cases) })}\n` : fleetText(plan));
  if (out !== undefined && !args.json) writeOut(`report: ${join(out, 'plan.html')}\n`);
  if (plan.outcome === 'found') return;
  const [verdict, closest] = verdictOfFleets(plan);
  throw new EscapementError('E_THRESHOLD', args.json ? `${verdict}; ${closest}` : verdict);
}

function planWithProgress(args: PlanArgs): Promise<FleetPlan> {
  return runPlan(args, ({ openRunner, start, onRun }) =>
    planFleet({
      ...{ file: args.file, over: args.over, targets: args.target, seeds: args.seeds },
      ...{ overrides: args.set, outDir: args.out, openRunner, fresh: args.fresh, version: packageVersion() },
      onStart: (seeds, fleets) => start(seeds, `${fleets} fleets`, seeds.length * fleets),
      onRun,
    }),
  );
}
