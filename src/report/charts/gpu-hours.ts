import { formatPercent, round3 } from '../../text/numbers.js';
import { fleetAnswer } from '../fleet-text.js';
import { FLEET_TARGET, isClairvoyant, type RankedFleet } from '../fleets.js';
import { type ChartSpec, chart, INK, joined, NAMES_AXIS, STRONG } from './theme.js';

const WIDTH = 360;
const ROW = 28;
const BAR = 18;

/** GPU-hours of each fleet and its attainment, in their order; those that can be had and meet the target are filled. */
export function gpuHoursChart(fleets: readonly RankedFleet[]): ChartSpec {
  const answer = fleetAnswer(fleets);
  const rows = fleets.map((fleet) => ({
    name: fleet.name,
    gpuHours: fleet.gpuHours,
    fill: fleet.meets && !isClairvoyant(fleet) ? STRONG : '#ffffff',
    label: joined(
      String(round3(fleet.gpuHours)),
      fleet.attainment === null ? 'none offered' : `attainment ${formatPercent(fleet.attainment)}`,
      isClairvoyant(fleet) ? 'hindsight' : '',
    ),
  }));
  const y = {
    field: 'name',
    type: 'nominal',
    sort: rows.map(({ name }) => name),
    title: null,
    axis: NAMES_AXIS,
  };
  return chart(
    {
      title: 'GPU-hours and attainment by fleet',
      subtitle: joined(
        answer?.title ?? '',
        answer?.reason ?? '',
        `filled: at least ${100 * FLEET_TARGET} % in time, without hindsight`,
      ),
      width: WIDTH + 320,
    },
    {
      width: WIDTH,
      height: { step: ROW },
      data: { values: rows },
      layer: [
        {
          mark: { type: 'bar', height: BAR, stroke: INK, strokeWidth: 1 },
          encoding: {
            y,
            x: { field: 'gpuHours', type: 'quantitative', title: 'GPU-hours' },
            color: { field: 'fill', type: 'nominal', scale: null, legend: null },
          },
        },
        {
          mark: { type: 'text', align: 'left', x: WIDTH + 12 },
          encoding: { y, text: { field: 'label' } },
        },
      ],
    },
  );
}
