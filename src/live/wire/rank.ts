import type { SeatState } from './protocol.js';

/** Whether `one` may take a seat from `other`, its driver: the higher term may, and of equal terms the later name. */
export function outranks(one: SeatState, other: SeatState): boolean {
  if (one.term !== other.term) return one.term > other.term;
  return one.controller > other.controller;
}
