import { keyLabel } from '../../report/quantity.js';
import { formatFactor } from '../../text/numbers.js';
import { alignColumns } from '../../text/table.js';
import { surelyBest } from './best.js';
import { msText, spreadText } from './figures.js';
import { failedText, noteOf, shownStages, stageOf } from './reading.js';
import type { BenchResult, BenchRun, StageSummary } from './result.js';
import { STAGE_TITLES } from './stage.js';

const NOTHING = '–';

/** The stages of one run. */
export function stageTable(run: BenchRun): string[] {
  const failed = failedColumn(run.stages);
  const header = ['', 'requests/s', 'p50 ms', 'p99 ms', ...failed.header, ''];
  const rows = run.stages.map((stage) => [
    STAGE_TITLES[stage.stage],
    spreadText(stage.throughputRps),
    stage.p50Ms === null ? NOTHING : msText(stage.p50Ms),
    stage.p99Ms === null ? NOTHING : msText(stage.p99Ms),
    ...failed.cell(stage),
    noteOf(stage, run),
  ]);
  return alignColumns([header, ...rows], [0, -1]);
}

/** The values of the key one below the other, stage by stage. */
export function sweepTable({ runs, vary }: BenchResult): string[] {
  const failed = failedColumn(runs.flatMap(({ stages }) => stages));
  const header = ['', '', 'requests/s', '', 'p99 ms', ...failed.header, ''];
  const rows = shownStages(runs[0]).flatMap((name) => {
    const stages = runs.map((run) => stageOf(run, name));
    const best = surelyBest(stages.map(({ throughputRps }) => throughputRps));
    return stages.map((stage, i) => [
      i === 0 ? STAGE_TITLES[name] : '',
      runs[i].value ?? '',
      spreadText(stage.throughputRps),
      `${formatFactor(stage.throughputRps.mean / stages[0].throughputRps.mean)}${best === i ? '*' : ' '}`,
      stage.p99Ms === null ? NOTHING : msText(stage.p99Ms),
      ...failed.cell(stage),
      noteOf(stage, runs[i]),
    ]);
  });
  return [`by ${keyLabel(vary?.key ?? '')}:`, '', ...alignColumns([header, ...rows], [0, 1, -1])];
}

/** There is no such column where nothing failed. */
function failedColumn(stages: readonly StageSummary[]) {
  const isShown = stages.some((stage) => failedText(stage) !== null);
  return {
    header: isShown ? ['failed'] : [],
    cell: (stage: StageSummary) => (isShown ? [failedText(stage) ?? NOTHING] : []),
  };
}
