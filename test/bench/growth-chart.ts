import { policyStyles } from '../../src/report/charts/policy-style.js';
import { type ChartSpec, chart, INK } from '../../src/report/charts/theme.js';
import type { GrowthLine } from './growth.js';

const WIDTH = 560;
const HEIGHT = 380;
const TICKS_US = [2, 5, 10, 20, 50, 100, 200];

/** CPU time per request by number of GPUs, a line per policy, its name at the end. */
export function growthChart(lines: readonly GrowthLine[]): ChartSpec {
  const kinds = [...new Set(lines.map(({ policy }) => policy))];
  const ours = kinds.indexOf('escapement');
  const styles = policyStyles(
    kinds.map((kind) => ({ kind })),
    ours < 0 ? null : ours,
  );
  const gpus = [...new Set(lines.map((line) => line.gpus))].sort((a, b) => a - b);
  const last = kinds.map((policy) =>
    lines.filter((line) => line.policy === policy).reduce((a, b) => (a.gpus > b.gpus ? a : b)),
  );
  const x = {
    field: 'gpus',
    type: 'quantitative',
    title: 'GPUs (logarithmic)',
    scale: { type: 'log', domain: [gpus[0], gpus[gpus.length - 1]], nice: false },
    axis: { values: gpus, grid: false, format: 'd' },
  };
  const y = {
    field: 'cpuUsPerRequest',
    type: 'quantitative',
    title: 'CPU per request, µs (logarithmic)',
    scale: { type: 'log', nice: false, domainMin: TICKS_US[0] },
    axis: { values: TICKS_US },
  };
  const color = {
    field: 'policy',
    type: 'nominal',
    scale: { domain: kinds, range: styles.map((style) => style.color) },
    legend: null,
  };
  const shape = {
    field: 'policy',
    type: 'nominal',
    scale: { domain: kinds, range: styles.map((style) => style.shape) },
    legend: null,
  };
  const title = 'What a request costs on more and more GPUs';
  const subtitle = '300 requests/s per GPU, 15 models per 4 GPUs; CPU time of the whole simulation';
  return chart(
    { title, subtitle, width: WIDTH + 110 },
    {
      width: WIDTH,
      height: HEIGHT,
      data: { values: [...lines] },
      encoding: { x, y, color },
      layer: [
        { mark: { type: 'line', strokeWidth: 1.8 } },
        { mark: { type: 'point', filled: true, size: 60, opacity: 1 }, encoding: { shape } },
        {
          data: { values: apart(last) },
          mark: { type: 'text', align: 'left', dx: 10, fontSize: 12, color: INK },
          encoding: { y: { ...y, field: 'labelUs' }, text: { field: 'policy' } },
        },
      ],
    },
  );
}

/** Ends of lines with the height at which their names do not overlap. */
function apart(ends: readonly GrowthLine[]): object[] {
  const LEAST_RATIO = 1.13;
  let labelUs = 0;
  return [...ends]
    .sort((a, b) => a.cpuUsPerRequest - b.cpuUsPerRequest)
    .map((end) => {
      labelUs = Math.max(end.cpuUsPerRequest, labelUs * LEAST_RATIO);
      return { ...end, labelUs };
    });
}
