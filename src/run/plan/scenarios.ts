import { EscapementError } from '../../base/errors.js';
import { buildExperiment } from '../../config/build.js';
import { ON_DISK } from '../../config/files-on-disk.js';
import { readExperimentSource } from '../../config/load.js';
import { partNames } from '../../config/part-names.js';
import { refuseUnknownParts } from '../../record/threshold.js';
import { documentText } from '../../report/terminal/document-text.js';
import { seedChanges } from '../random-streams.js';
import { parseSeeds } from '../sweep/vary.js';
import { parseTarget } from './judge.js';
import type { PlanRequest } from './plan.js';
import type { PlanInputs, WhatIfs } from './plan-result.js';
import { openPlanStore } from './prober.js';
import { Reach } from './reach.js';
import { scenarioTable } from './table.js';
import { checkScenarios, runWhatIfs } from './what-ifs.js';
import { headroomText, intervalsOf } from './words.js';

/** An experiment in its scenarios, as `scenarios --json` prints it. Does not depend on the number of threads. */
export interface ScenarioResults extends WhatIfs, Omit<PlanInputs, 'survives'> {
  readonly version: 1;
}

/** Runs an experiment in its scenarios. Throws errors of the experiment and the flags. */
export async function runScenarios(
  request: Omit<PlanRequest, 'over' | 'survives' | 'asksWhatIf'>,
): Promise<ScenarioResults> {
  const { overrides, version, runner, onRun } = request;
  const targets = request.targets.map(parseTarget);
  const seeds = parseSeeds(request.seeds);
  const source = await readExperimentSource(request.file);
  const experiment = await buildExperiment(source, { overrides, host: ON_DISK });
  refuseUnknownParts(targets, [partNames(experiment)], 'target');
  await checkScenarios(source, experiment.scenarios, overrides);
  const store = openPlanStore(request.outDir, !request.fresh);
  request.onStart(seedChanges(experiment) ? seeds : seeds.slice(0, 1), experiment.scenarios.length);
  const options = { source, overrides, seeds, targets, version, onRun };
  const found = await runWhatIfs(options, { runner, store, reach: new Reach(targets, experiment) });
  const { name, policy } = experiment;
  return {
    ...{ version: 1, escapement: version, name, policy: policy.kind, experiment: source.text },
    ...{ overrides, targets, seeds, ...found },
  };
}

/** Scenarios for the terminal. */
export function scenariosText({ policy, scenarios, headroom, ...rest }: ScenarioResults): string {
  const interval = intervalsOf({ ...rest, tried: scenarios });
  const [first = '', ...lead] = headroom === null ? [] : [headroomText(rest.targets, headroom)];
  const blocks = [
    { text: `policy ${policy}${interval === null ? '' : `; ±: ${interval}`}` },
    { table: scenarioTable(rest.targets, scenarios) },
  ];
  return documentText({ kind: '', title: first, lead, sections: [{ title: '', blocks }] });
}

/** Throws `E_THRESHOLD` if targets hold with no factor of the traffic. */
export function refuseHopeless({ targets, headroom }: ScenarioResults): void {
  if (headroom !== null && headroom.holds === null)
    throw new EscapementError('E_THRESHOLD', headroomText(targets, headroom));
}
