import type { ScaledKind } from '../core/scaler.js';

/** Time over which the start-up cost of an order is spread. */
const KEPT_NS = 600e9;
/** Limit on the fleets enumerated; beyond it kinds are filled by price per speed. */
const MOST_FLEETS = 1e6;

type MixedKind = Pick<ScaledKind, 'pricePerHour' | 'speed' | 'min' | 'max' | 'on' | 'starting' | 'startNs'>;

/**
 * The cheapest fleet that does the work of `need` GPUs of the first kind, including the cost of new GPUs until they are
 * in service. Ties go to the most capacity, then to the fewest GPUs of the first kinds. All GPUs if they are too few.
 */
export function cheapestFleet(kinds: readonly MixedKind[], need: number): number[] {
  if (kinds.length === 1) {
    const [{ min, max, speed }] = kinds;
    return [Math.min(max, Math.max(min, whole(need / speed)))];
  }
  const fleets = kinds.reduce((product, { min, max }) => product * (max - min + 1), 1);
  return fleets > MOST_FLEETS ? byPrice(kinds, need) : bestOfAll(kinds, need);
}

function bestOfAll(kinds: readonly MixedKind[], need: number): number[] {
  const fleet = kinds.map(({ min }) => min);
  let best = { fleet: kinds.map(({ max }) => max), cost: Number.POSITIVE_INFINITY, capacity: 0 };
  const visit = (kind: number, cost: number, capacity: number): void => {
    const { min, max, speed } = kinds[kind];
    const isLast = kind === kinds.length - 1;
    // Of the last kind, only as many as needed.
    const first = isLast ? Math.max(min, whole((need - capacity) / speed)) : min;
    for (let gpus = first; gpus <= (isLast ? Math.min(first, max) : max); gpus++) {
      fleet[kind] = gpus;
      const costs = cost + costOf(kinds[kind], gpus);
      if (costs > best.cost) return;
      if (!isLast) visit(kind + 1, costs, capacity + gpus * speed);
      else if (costs < best.cost || capacity + gpus * speed > best.capacity)
        best = { fleet: [...fleet], cost: costs, capacity: capacity + gpus * speed };
    }
  };
  visit(0, 0, 0);
  return best.fleet;
}

/** Fills the kind with the best speed per price first. */
function byPrice(kinds: readonly MixedKind[], need: number): number[] {
  const fleet = kinds.map(({ min }) => min);
  let rest = need - kinds.reduce((sum, { speed, min }) => sum + speed * min, 0);
  const order = kinds.map((_, kind) => kind);
  order.sort((a, b) => priceOf(kinds[a]) / kinds[a].speed - priceOf(kinds[b]) / kinds[b].speed || a - b);
  for (const kind of order) {
    const { speed, min, max } = kinds[kind];
    const more = Math.min(max - min, Math.max(0, whole(rest / speed)));
    fleet[kind] += more;
    rest -= more * speed;
  }
  return fleet;
}

function costOf(kind: MixedKind, gpus: number): number {
  const started = Math.max(0, gpus - kind.on - kind.starting);
  return priceOf(kind) * (gpus + (started * kind.startNs) / KEPT_NS);
}

function priceOf({ pricePerHour }: MixedKind): number {
  return pricePerHour ?? 1;
}

/** Rounds up, ignoring floating-point error. */
function whole(gpus: number): number {
  return Math.ceil(gpus - 1e-9);
}
