import { EscapementError } from '../base/errors.js';
import { stream } from '../base/random/streams.js';

/** Failures of GPUs: of one GPU at a given time, or of all at random times. */
export type FailureSpec =
  | { readonly atNs: number; readonly gpu: number; readonly forNs: number; readonly isBilled: boolean }
  | { readonly perNs: number; readonly repairNs: number; readonly isBilled: boolean };

/** A GPU that is gone for a while, and comes back without weights. */
export interface GpuFailure {
  readonly gpu: number;
  readonly atNs: number;
  /** Infinity: it stays away. */
  readonly untilNs: number;
  readonly isBilled: boolean;
}

const MOST_FAILURES = 10_000;

function tooMany(): EscapementError {
  const what = `draws more than ${MOST_FAILURES} failures: give a lower rate or a longer repair`;
  return new EscapementError('E_CONFIG_VALUE', what, { key: 'cluster.failures' });
}

/**
 * Failures of a run, by time. Times between failures are exponentially distributed, independently for each GPU.
 * Failures of a GPU that overlap are one, billed as the first. Throws `E_CONFIG_VALUE` if there are too many.
 */
export function drawFailures(
  specs: readonly FailureSpec[],
  gpus: number,
  durationNs: number,
  seed: number | string,
): GpuFailure[] {
  const drawn = specs.flatMap((spec): GpuFailure[] => {
    const { isBilled } = spec;
    if ('atNs' in spec) {
      const { gpu, atNs, forNs } = spec;
      return [{ gpu, atNs, untilNs: atNs + forNs, isBilled }];
    }
    const failures: GpuFailure[] = [];
    for (let gpu = 0; gpu < gpus; gpu++) {
      const own = `${seed}/${gpu}`;
      const random = stream(own, 'failures');
      const next = (fromNs: number) => Math.round(fromNs - Math.log1p(-random()) / spec.perNs);
      for (let atNs = next(0); atNs < durationNs; atNs = next(atNs + spec.repairNs)) {
        failures.push({ gpu, atNs, untilNs: atNs + spec.repairNs, isBilled });
        if (failures.length > MOST_FAILURES) throw tooMany();
      }
    }
    return failures;
  });
  const merged: GpuFailure[] = [];
  /** By GPU: place of its last failure. */
  const last = new Map<number, number>();
  for (const one of drawn.sort((a, b) => a.atNs - b.atNs || a.gpu - b.gpu)) {
    const place = last.get(one.gpu);
    const before = place === undefined ? undefined : merged[place];
    if (place !== undefined && before !== undefined && before.untilNs >= one.atNs)
      merged[place] = { ...before, untilNs: Math.max(before.untilNs, one.untilNs) };
    else last.set(one.gpu, merged.push(one) - 1);
  }
  return merged;
}
