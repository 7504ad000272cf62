import type { LeaseState } from './protocol.js';

/** True if `one` may take a lease from its driver `other`: by the higher term, or the later name on a tie. */
export function outranks(one: LeaseState, other: LeaseState): boolean {
  if (one.term !== other.term) return one.term > other.term;
  return one.controller > other.controller;
}
