/** How measured durations spread around the profile's figure: a piecewise linear quantile function. */
export interface DurationSpread {
  /** Shares of the runs, ascending from 0 to 1. */
  readonly shares: readonly number[];
  /** What that share of the runs took at most, relative to the profile's figure; ascending. */
  readonly factors: readonly number[];
}

/** How one model's durations depart from its profile's figures; null: they do not. */
export interface ModelSpread {
  /** One entry a batch size; where a model has lengths, of each in turn. */
  readonly exec: readonly (DurationSpread | null)[];
  readonly load: DurationSpread | null;
  /** What an INFER takes longer if its GPU ran another model before, by batch size; 0 where that is not known. */
  readonly switchNs: readonly number[];
}

/** The duration, relative to the profile's, that `share` (0 to 1) of the runs do not exceed. */
export function quantile({ shares, factors }: DurationSpread, share: number): number {
  let upper = 1;
  while (upper < shares.length - 1 && shares[upper] < share) upper++;
  const lower = upper - 1;
  const along = (share - shares[lower]) / (shares[upper] - shares[lower]);
  return factors[lower] + along * (factors[upper] - factors[lower]);
}
