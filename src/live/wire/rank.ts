import type { SeatState } from './protocol.js';

/** True if `one` may take a seat from its driver `other`: by the higher term, or the later name on a tie. */
export function outranks(one: SeatState, other: SeatState): boolean {
  if (one.term !== other.term) return one.term > other.term;
  return one.controller > other.controller;
}
