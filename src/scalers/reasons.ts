import { NS_PER_S } from '../base/units.js';
import type { ScaledKind } from '../core/scaler.js';
import { capacityOf } from './fleet-sums.js';

/**
 * End of a reason: `7.61 GPUs needed`. Rounded up, so that the text gives the same number of whole GPUs as the computed
 * value. `highest`: the value that decided instead, because it was needed within the last `windowNs`; the fleet follows
 * from it.
 */
export function neededText(
  kinds: readonly ScaledKind[],
  fleet: readonly number[],
  need: number,
  highest?: { readonly need: number; readonly windowNs: number },
): string {
  const before =
    highest === undefined || highest.need <= need
      ? ''
      : `, and up to ${gpusText(highest.need)} in the last ${secondsText(highest.windowNs)}`;
  const counted = highest === undefined ? need : Math.max(need, highest.need);
  return `${gpusText(need)} ${unitOf(kinds)} needed${before}${limitText(kinds, fleet, counted)}`;
}

/** GPUs of the first kind, rounded up to hundredths. */
export function gpusText(gpus: number): string {
  return (Math.ceil(gpus * 100 - 1e-6) / 100).toFixed(2);
}

export function percentText(share: number): string {
  return `${Number((share * 100).toFixed(2))} %`;
}

export function secondsText(ns: number): string {
  return `${Number((ns / NS_PER_S).toFixed(3))} s`;
}

/** Unit of demand: GPUs of the first kind. */
export function unitOf(kinds: readonly ScaledKind[]): string {
  return kinds.length === 1 ? 'GPUs' : `GPUs of ${kinds[0].name}`;
}

/** Reason why the fleet differs from what is needed. */
function limitText(kinds: readonly ScaledKind[], fleet: readonly number[], need: number): string {
  if (capacityOf(kinds, fleet) < need - 1e-6)
    return kinds.every(({ max }, kind) => fleet[kind] >= max)
      ? ', more than max allows'
      : ', so those that are there stay';
  const isLeast = kinds.every(({ min }, kind) => fleet[kind] === min);
  const least = Math.min(...kinds.filter(({ min }) => min > 0).map(({ speed }) => speed));
  return isLeast && capacityOf(kinds, fleet) - least >= need ? ', fewer than min' : '';
}
