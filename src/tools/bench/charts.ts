import type { NamedChart } from '../../report/charts/chart-sets.js';
import { stageBars } from '../../report/charts/stage-bars.js';
import { stageLines } from '../../report/charts/stage-lines.js';
import { keyLabel } from '../../report/quantity.js';
import { formatFactor } from '../../text/numbers.js';
import { surelyBest } from './best.js';
import { spreadText } from './figures.js';
import { noteOf, shownStages, stageOf } from './reading.js';
import type { BenchResult, BenchRun } from './result.js';
import { STAGE_TITLES } from './stage.js';
import type { Bottleneck } from './verdict.js';

/** The stages over the values that were tried, or side by side where nothing was varied. */
export function benchCharts(result: BenchResult): NamedChart[] {
  const { vary, runs } = result;
  if (vary === null) return [{ name: 'stages', spec: bars(runs[0]) }];
  return [{ name: 'stages', spec: lines(result, vary.key) }];
}

const BOTTLENECK_STAGE: Readonly<Record<Bottleneck, string | null>> = {
  io: STAGE_TITLES.io,
  device: STAGE_TITLES.synthetic,
  between: STAGE_TITLES.full,
  generator: null,
  unclear: null,
};

function bars(run: BenchRun) {
  const rows = run.stages.map((stage) => ({
    name: STAGE_TITLES[stage.stage],
    mean: stage.throughputRps.mean,
    sd: stage.throughputRps.sd,
    label: `${spreadText(stage.throughputRps)} /s`,
    note: noteOf(stage, run),
  }));
  return stageBars(rows, {
    title: 'Requests per second of each part',
    finding: `${run.verdict.title} · whiskers: standard deviation of ${rowsTrials(run)} trials`,
    bottleneck: BOTTLENECK_STAGE[run.verdict.bottleneck],
  });
}

function rowsTrials({ stages }: BenchRun): number {
  return stages[0].throughputRps.n;
}

function lines(result: BenchResult, key: string) {
  const { runs, trials } = result;
  const shown = shownStages(runs[0]);
  return stageLines({
    title: `Requests per second of each part by ${keyLabel(key)}`,
    finding: `${bestText(result, key)} · whiskers: standard deviation of ${trials} trials`,
    xTitle: keyLabel(key),
    values: runs.map(({ value }) => value ?? ''),
    stages: shown.map((name) => STAGE_TITLES[name]),
    points: runs.flatMap((run) =>
      shown.map((name) => {
        const { mean, sd } = stageOf(run, name).throughputRps;
        const note = `${STAGE_TITLES[name]}, ${keyLabel(key)} ${run.value}: ${spreadText(stageOf(run, name).throughputRps)} requests/s`;
        return { stage: STAGE_TITLES[name], value: run.value ?? '', mean, sd, note };
      }),
    ),
  });
}

/** `FULL is best with 2: 1.58× of 1`, where that is beyond the noise. */
export function bestText({ runs }: BenchResult, key: string): string {
  const full = runs.map((run) => stageOf(run, 'full').throughputRps);
  const best = surelyBest(full);
  if (best === null) return 'No value makes FULL faster than all others beyond the noise';
  const name = `${keyLabel(key)} ${runs[best].value}`;
  if (best === 0) return `FULL is best with ${name}`;
  return `FULL is best with ${name}: ${formatFactor(full[best].mean / full[0].mean)} of ${runs[0].value}`;
}
