import { gpuHoursOf, type MeasuredSummary } from '../record/figures.js';
import { type Senders, sendersOf } from './senders.js';

/** Share of the requests that a fleet must answer in time to be ranked by cost. */
export const FLEET_TARGET = 0.99;

/** Cost and results of one fleet: of a run, or means over the repetitions of a sweep's choice. */
export interface Fleet extends Senders {
  readonly name: string;
  /** The scaler that decided the number of GPUs; null: it was fixed. */
  readonly scaler: string | null;
  readonly gpuHours: number;
  /** Cost of the whole run; null if prices are not known. */
  readonly cost: number | null;
  /** Null: nothing was offered. */
  readonly attainment: number | null;
  /** True if its GPUs are of several kinds. */
  readonly mixed: boolean;
}

export interface RankedFleet extends Fleet {
  readonly meets: boolean;
  /** True if no realizable fleet costs less and answers as many in time, or the reverse. False for clairvoyant ones. */
  readonly onFrontier: boolean;
}

/** Fleet of a run; null if the run does not record the number of GPUs. */
export function fleetOf(name: string, summary: MeasuredSummary): Fleet | null {
  const { scaling, cost, durationSeconds, attainment, by } = summary;
  const gpuHours = gpuHoursOf(summary);
  if (gpuHours === null) return null;
  return {
    name,
    scaler: scaling?.scaler ?? null,
    gpuHours,
    cost: cost === undefined ? null : (cost.perHour * durationSeconds) / 3600,
    attainment,
    mixed: (by.kind?.length ?? 0) > 1,
    ...sendersOf([summary]),
  };
}

/**
 * Fleets that meet the target by GPU-hours, fewest first, then the others by attainment. By cost if all fleets have a
 * price and some have GPUs of several kinds. Empty without a scaler.
 */
export function rankFleets(fleets: readonly Fleet[]): RankedFleet[] {
  if (fleets.every(({ scaler }) => scaler === null)) return [];
  const byCost = fleets.every(({ cost }) => cost !== null) && fleets.some(({ mixed }) => mixed);
  const paid = (fleet: Fleet) => (byCost ? (fleet.cost as number) : fleet.gpuHours);
  const real = fleets.filter((fleet) => !isClairvoyant(fleet));
  const isBeaten = (fleet: Fleet) =>
    real.some(
      (other) =>
        paid(other) <= paid(fleet) &&
        attained(other) >= attained(fleet) &&
        (paid(other) < paid(fleet) || attained(other) > attained(fleet)),
    );
  const ranked = fleets.map((fleet) => ({
    ...fleet,
    meets: attained(fleet) >= FLEET_TARGET,
    onFrontier: !isClairvoyant(fleet) && !isBeaten(fleet),
  }));
  return ranked.sort((a, b) => {
    if (a.meets !== b.meets) return a.meets ? -1 : 1;
    return a.meets ? paid(a) - paid(b) : attained(b) - attained(a);
  });
}

/** Below every share if nothing was offered. */
function attained({ attainment }: Fleet): number {
  return attainment ?? -1;
}

/** True for a scaler that knows the future, which no real one can. */
export function isClairvoyant({ scaler }: Fleet): boolean {
  return scaler === 'clairvoyant';
}
