import { EscapementError } from '../base/errors.js';
import type { Frame } from './frame.js';
import type { MinuteCounts } from './minute-counts.js';
import type { Azure2019Spec } from './spec.js';

/** The half-open slice of minutes that is played, all of them by default. Throws `E_CONFIG_VALUE` outside the trace. */
export function minuteSlice(
  spec: Azure2019Spec,
  counts: MinuteCounts,
  frame: Frame,
): readonly [number, number] {
  const minutes = spec.minutes ?? [0, counts.minutes];
  if (minutes[0] < minutes[1] && minutes[1] <= counts.minutes) return minutes;
  const what = `${minutes[0]}:${minutes[1]} is not within the trace's minutes 0:${counts.minutes}`;
  throw new EscapementError('E_CONFIG_VALUE', what, frame.placeOf('minutes'));
}
