import { formatPercent, round3 } from '../text/numbers.js';
import { priceText } from './cost-text.js';
import type { Section } from './document.js';
import { FLEET_TARGET, isClairvoyant, type RankedFleet } from './fleets.js';
import { senderSections } from './senders.js';

const TARGET = `${Math.round(FLEET_TARGET * 100)} %`;
const FRONTIER =
  'On the frontier: no other fleet costs less and answers as many in time, or answers more and costs as little.';

/** The ranking of fleets, and what each class and tenant got with them; none without fleets. */
export function fleetSections(fleets: readonly RankedFleet[]): Section[] {
  if (fleets.length === 0) return [];
  const priced = fleets.every(({ cost }) => cost !== null);
  const titles = ['GPU-hours', ...(priced ? ['cost'] : []), 'attainment', `${TARGET} in time`, 'frontier'];
  const table = {
    columns: [{ title: 'fleet' }, ...titles.map((title) => ({ title, numeric: true }))],
    rows: fleets.map((fleet) =>
      [
        fleet.name,
        String(round3(fleet.gpuHours)),
        ...(priced ? [priceText(fleet.cost as number)] : []),
        formatPercent(fleet.attainment),
        fleet.meets ? 'yes' : 'no',
        isClairvoyant(fleet) ? 'hindsight' : fleet.onFrontier ? 'yes' : 'no',
      ].map((text) => ({ text })),
    ),
  };
  const names = fleets.map(({ name }) => name);
  return [
    { title: 'Fleets by cost', blocks: [{ table }] },
    { title: '', only: 'page', blocks: [{ text: FRONTIER, tone: 'small' }] },
    ...senderSections('fleet', names, [{ results: fleets }]),
  ];
}

/** The answer in two parts: the cheapest fleet, and its savings over others; null if there are none. */
export function fleetAnswer(
  fleets: readonly RankedFleet[],
): { readonly title: string; readonly reason: string } | null {
  if (fleets.length === 0) return null;
  const real = fleets.filter((fleet) => !isClairvoyant(fleet));
  const [best] = real;
  if (best === undefined || !best.meets)
    return { title: `No fleet answers ${TARGET} of the requests in time`, reason: '' };
  const fixed = real.find((fleet) => fleet.meets && fleet !== best && fleet.scaler === null);
  const clairvoyant = fleets.find((fleet) => fleet.meets && isClairvoyant(fleet));
  const against = [
    ...(fixed === undefined ? [] : [`${less(best, fixed)} than the best fixed fleet, ${fixed.name}`]),
    ...(clairvoyant === undefined
      ? []
      : [`${round3(best.gpuHours / clairvoyant.gpuHours)} times those of the plan that knows all arrivals`]),
  ];
  return {
    title: `Fewest GPU-hours at ${TARGET} in time: ${best.name}, ${round3(best.gpuHours)}`,
    reason: against.join(', and '),
  };
}

function less(best: RankedFleet, other: RankedFleet): string {
  return `${formatPercent(1 - best.gpuHours / other.gpuHours)} fewer`;
}
