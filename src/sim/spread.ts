/** Distribution of measured durations around the profile's figure: a piecewise linear quantile function. */
export interface DurationSpread {
  /** Shares of the runs, ascending from 0 to 1. */
  readonly shares: readonly number[];
  /** By share: duration not exceeded, relative to the profile's figure; ascending. */
  readonly factors: readonly number[];
}

/** Deviation of one model's durations from its profile's figures; null: none. */
export interface ModelSpread {
  /** One entry per batch size; if a model has lengths, for each of them in turn. */
  readonly exec: readonly (DurationSpread | null)[];
  readonly load: DurationSpread | null;
  /** Extra time of an INFER by batch size if its GPU ran another model before; 0 if unknown. */
  readonly switchNs: readonly number[];
}

/** Duration, relative to the profile's, that `share` (0 to 1) of the runs do not exceed. */
export function quantile({ shares, factors }: DurationSpread, share: number): number {
  let upper = 1;
  while (upper < shares.length - 1 && shares[upper] < share) upper++;
  const lower = upper - 1;
  const along = (share - shares[lower]) / (shares[upper] - shares[lower]);
  return factors[lower] + along * (factors[upper] - factors[lower]);
}
