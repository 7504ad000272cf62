/**
 * Share of arrivals that find a queue full: M/M/1/K with offered load `load` and `places` requests in the system, the
 * one in execution included (Kleinrock, "Queueing Systems", vol. 1, §3.6). `places` need not be whole.
 */
export function lossShare(load: number, places: number): number {
  if (load === 1) return 1 / (places + 1);
  if (load < 1) return ((1 - load) * load ** places) / (1 - load ** (places + 1));
  // The same divided by load^places, which may be too large for a number.
  return (load - 1) / (load - (1 / load) ** places);
}
