import type { NamedChart } from '../../../report/charts/chart-sets.js';
import { scalingLine } from '../../../report/charts/scaling-line.js';
import { rateText } from '../figures.js';
import type { ScalingResult, ScalingRun } from './result.js';
import { efficiencyText, speedUpText, tookText } from './text.js';

/** One chart per mode: measured and ideal. */
export function scalingCharts({ runs, trials }: ScalingResult): NamedChart[] {
  return runs.map((run) => ({ name: `${run.mode}-scaling`, spec: chartOf(run, trials) }));
}

function chartOf({ mode, points, verdict }: ScalingRun, trials: number) {
  const strong = mode === 'strong';
  return scalingLine({
    title: strong ? 'Strong scaling: the same work on more GPUs' : 'Weak scaling: the same work per GPU',
    finding: `${verdict.title.replace(/^\w+ scaling: /, '')} · whiskers: standard deviation of ${trials} trials`,
    yTitle: strong ? 'speed-up' : 'efficiency',
    isShare: !strong,
    points: points.map((point) => {
      const { gpus, ideal, speedUp, efficiency, throughputRps } = point;
      return {
        gpus,
        ideal: strong ? ideal : 1,
        ...(strong ? speedUp : efficiency),
        label: efficiencyText(point).replace(/ ± .*/, ''),
        note: `${gpus} GPUs: ${tookText(point)} s, ${rateText(throughputRps)} requests/s, ${speedUpText(point)}×, efficiency ${efficiencyText(point)}`,
      };
    }),
  });
}
