import { EscapementError } from '../../base/errors.js';
import { buildExperiment } from '../../config/build.js';
import type { Experiment } from '../../config/experiment.js';
import { NotedFiles } from '../../config/files-on-disk.js';
import { readExperimentSource } from '../../config/load.js';
import type { Threshold } from '../../record/threshold.js';
import { judgeValues, parseTarget, type Verdict } from '../plan/judge.js';
import type { PlanFlags } from '../plan/plan.js';
import { openPlanStore } from '../plan/store.js';
import { parseSeeds } from '../sweep/vary.js';
import type { CellMap } from './cell-map.js';
import { type CellRuns, runCells, type SeededExperiment } from './cell-runs.js';
import type { CellsResult, Split } from './cells-result.js';
import { parseCounts } from './counts.js';
import { checkTarget, figuresOf, targetValue } from './figures.js';
import { measureLoad } from './measure-load.js';
import { movesOf } from './moves.js';
import { notesOf } from './notes.js';
import { readCellMap } from './read-map.js';
import { splitIntoCells } from './split.js';
import { headlineOf } from './text.js';

interface CellsRequest extends PlanFlags {
  /** `--cells`: a number of cells, or several to compare. */
  readonly cells: string;
  /** `--from`: the map of a split that is in use; undefined: there is none. */
  readonly from: string | undefined;
  /** Called once, when everything was checked and before the first run. */
  readonly onStart: (seeds: readonly number[], runs: number) => void;
}

/**
 * Splits an experiment over several controllers, by the load of the first seed's requests, and simulates with every seed what
 * that costs compared with one controller. The result does not depend on the number of threads. Throws what is wrong with
 * the experiment or the flags.
 */
export async function planCells(request: CellsRequest): Promise<CellsResult> {
  const { overrides, version } = request;
  const targets = request.targets.map(parseTarget);
  targets.forEach(checkTarget);
  const counts = parseCounts(request.cells);
  const seeds = parseSeeds(request.seeds);
  const before = request.from === undefined ? null : await readCellMap(request.from);
  const source = await readExperimentSource(request.file);
  const seeded: SeededExperiment[] = [];
  for (const seed of seeds) {
    const own = [...overrides, `seed=${seed}`, 'output.timeline=false'];
    const noted = new NotedFiles();
    const experiment = await buildExperiment(source, { overrides: own, host: noted });
    seeded.push({ experiment, overrides: own, files: noted.files });
  }
  const { experiment } = seeded[0]!;
  refuseCell(experiment);
  const measured = await measureLoad(experiment);
  const maps = counts.map((cells) => splitIntoCells(experiment, measured, { cells, version, before }));
  const store = openPlanStore(request.outDir, !request.fresh);
  const runner = request.openRunner();
  try {
    const cells = counts.reduce((sum, count) => sum + count, 0);
    request.onStart(seeds, seeds.length * (1 + cells));
    const runs = await runCells({ source, seeded, maps }, { ...request, targets, store, runner });
    const whole = runs.whole.map((result) => figuresOf([result]));
    const splits = maps.map((map, i) => ({
      ...splitOf(map, runs.splits[i]!, targets),
      moves: before === null ? null : movesOf(before, map),
    }));
    const chosen = chosenOf(splits);
    const load = measured.means.reduce((sum, mean) => sum + mean, 0);
    const plan = {
      ...({ version: 3, kind: 'cells', escapement: version } as const),
      ...{ name: experiment.name, policy: experiment.policy.kind, experiment: source.text, overrides },
      ...{ targets, seeds, gpus: experiment.cluster.gpus, models: experiment.models.length, load },
      ...{ whole, splits, chosen },
    };
    return { ...plan, headline: headlineOf(plan), notes: notesOf(plan) };
  } finally {
    await runner.close();
  }
}

/** What is a cell already cannot be split again. */
function refuseCell({ cell, file }: Experiment): void {
  if (cell === undefined) return;
  throw new EscapementError('E_USAGE', '--cells splits a whole cluster: leave out the key cell', { file });
}

function splitOf(
  map: CellMap,
  runs: CellRuns['splits'][number],
  targets: readonly Threshold[],
): Omit<Split, 'moves'> {
  const [first] = runs;
  const bySeed = first!.map((_, seed) => runs.map((ofCell) => ofCell[seed]!));
  const figures = targets.map((target) => {
    const values = bySeed.map((results) => targetValue(target, results));
    return judgeValues(target, values, values.includes(null) ? 'no requests were offered' : null);
  });
  const verdicts = figures.map(({ meets }) => meets);
  const meets: Verdict = verdicts.includes('no') ? 'no' : verdicts.includes('unsure') ? 'unsure' : 'yes';
  return {
    cells: map.cells.length,
    figures: bySeed.map(figuresOf),
    byCell: runs.map((ofCell) => ofCell.map((result) => figuresOf([result]))),
    ...{ targets: figures, meets, map },
  };
}

/** With targets the most cells that meet them; without, the fewest, which lose least. */
function chosenOf(splits: readonly Split[]): number | null {
  const [fewest] = splits;
  if (fewest!.targets.length === 0) return fewest!.cells;
  return splits.findLast(({ meets }) => meets === 'yes')?.cells ?? null;
}
