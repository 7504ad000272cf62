import { round3, significant } from '../../text/numbers.js';
import { fleetVerdict } from '../fleet-text.js';
import { FLEET_TARGET, type RankedFleet } from '../fleets.js';
import { ALERT, type ChartSpec, chart, INK, MUTED, STRONG } from './theme.js';

const WIDTH = 560;
const HEIGHT = 340;

/** Attainment by GPU-hours, a point for each fleet. The axis of failures is logarithmic. */
export function gpuHoursChart(fleets: readonly RankedFleet[]): ChartSpec {
  const rows = fleets.map((fleet) => ({
    name: fleet.name,
    gpuHours: round3(fleet.gpuHours),
    failed: significant(Math.max(1e-5, 1 - fleet.attainment), 4),
    how: fleet.scaler ?? 'fixed',
  }));
  // Neighbors have their names on either side.
  rows.sort((a, b) => a.gpuHours - b.gpuHours);
  const kinds = [...new Set(rows.map(({ how }) => how))].sort();
  const x = {
    field: 'gpuHours',
    type: 'quantitative',
    title: 'GPU-hours',
    scale: { zero: false, padding: 30 },
  };
  const y = {
    field: 'failed',
    type: 'quantitative',
    title: 'requests not answered in time',
    scale: { type: 'log', reverse: true },
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
        ...[-7, 14].map((dy, below) => ({
          data: { values: rows.filter((_, i) => i % 2 === below) },
          mark: { type: 'text', align: 'left', dx: 8, dy, fontSize: 11, color: MUTED },
          encoding: { x, y, text: { field: 'name', type: 'nominal' } },
        })),
      ],
    },
  );
}
