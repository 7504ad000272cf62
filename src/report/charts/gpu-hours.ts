import { round3, significant } from '../../text/numbers.js';
import { fleetVerdict } from '../fleet-text.js';
import { FLEET_TARGET, type RankedFleet } from '../fleets.js';
import { pointNames } from './point-names.js';
import { ALERT, type ChartSpec, chart, INK, STRONG } from './theme.js';

const WIDTH = 560;
const HEIGHT = 340;
/** Margin left and right of the outermost points, as a share of the width between them. */
const AIR = 0.08;

/** Attainment by GPU-hours, one point per fleet with offered requests. The axis of failures is logarithmic. */
export function gpuHoursChart(fleets: readonly RankedFleet[]): ChartSpec {
  const rows = fleets.flatMap(({ attainment, ...fleet }) =>
    attainment === null
      ? []
      : [
          {
            name: fleet.name,
            gpuHours: round3(fleet.gpuHours),
            failed: significant(Math.max(1e-5, 1 - attainment), 4),
            how: fleet.scaler ?? 'fixed',
          },
        ],
  );
  const domainX = hoursDomain(rows.map(({ gpuHours }) => gpuHours));
  const domainY = decades([1 - FLEET_TARGET, ...rows.map(({ failed }) => failed)]);
  const atX = (hours: number) => (WIDTH * (hours - domainX[0])) / (domainX[1] - domainX[0]);
  const atY = (failed: number) =>
    (HEIGHT * Math.log(failed / domainY[0])) / Math.log(domainY[1] / domainY[0]);
  const kinds = [...new Set(rows.map(({ how }) => how))].sort();
  const x = {
    field: 'gpuHours',
    type: 'quantitative',
    title: 'GPU-hours',
    scale: { domain: domainX, nice: false, zero: false },
  };
  const y = {
    field: 'failed',
    type: 'quantitative',
    title: 'requests not answered in time',
    scale: { type: 'log', domain: domainY, nice: false, reverse: true },
    axis: { format: '~%', tickCount: 5 },
  };
  return chart(
    {
      title: 'Attainment by GPU-hours',
      subtitle: `${fleetVerdict(fleets)} · up and to the left is better · the axis is logarithmic`,
      width: WIDTH + 120,
    },
    {
      width: WIDTH,
      height: HEIGHT,
      layer: [
        {
          data: { values: [{ failed: 1 - FLEET_TARGET }] },
          mark: { type: 'rule', color: ALERT, strokeDash: [5, 4] },
          encoding: { y },
        },
        {
          data: { values: rows },
          mark: { type: 'point', filled: true, size: 90, opacity: 1 },
          encoding: {
            x,
            y,
            color: {
              field: 'how',
              type: 'nominal',
              title: 'scaler',
              scale: {
                domain: kinds,
                range: ['#8a94a0', STRONG, '#b3261e', '#1b8a5a', INK].slice(0, kinds.length),
              },
            },
            shape: { field: 'how', type: 'nominal', title: 'scaler', scale: { domain: kinds } },
          },
        },
        ...pointNames(
          rows.map((row) => ({ name: row.name, x: atX(row.gpuHours), y: atY(row.failed), row })),
          { width: WIDTH, height: HEIGHT, ruleY: atY(1 - FLEET_TARGET) },
          { x, y },
        ),
      ],
    },
  );
}

function hoursDomain(hours: readonly number[]): [number, number] {
  const [low, high] = [Math.min(...hours), Math.max(...hours)];
  const air = AIR * (high - low || high);
  return [Math.max(0, low - air), high + air];
}

/** From a power of ten below all values to one above. */
function decades(values: readonly number[]): [number, number] {
  const powers = values.map((value) => significant(Math.log10(value), 12));
  return [10 ** Math.floor(Math.min(...powers)), 10 ** Math.ceil(Math.max(...powers))];
}
