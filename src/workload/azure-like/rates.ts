/**
 * Invocations a minute of the functions of one day of Azure Functions, by falling rate: share of the
 * functions that are more popular, and the rate there. Taken from the 1,250-function sample of day 1 of
 * the 2019 trace that the In-Vitro project redistributes (Shahrad et al., ATC 2020, CC-BY-4.0).
 * Ten functions make 57 % of all invocations; half of the functions make less than one in 17 minutes.
 */
const RATE_BY_RANK: readonly (readonly [number, number])[] = [
  [0, 1037],
  [0.0008, 840],
  [0.0032, 837],
  [0.004, 769],
  [0.0048, 769],
  [0.0056, 638],
  [0.0064, 419],
  [0.008, 210],
  [0.01, 168],
  [0.02, 78],
  [0.024, 60.6],
  [0.05, 25.5],
  [0.06, 16.2],
  [0.084, 14],
  [0.1, 10],
  [0.144, 3.9],
  [0.2, 2.8],
  [0.27, 1.04],
  [0.4, 0.233],
  [0.5, 0.0583],
  [0.63, 0.016],
  [0.8, 0.0056],
  [0.9, 0.0014],
  [1, 0.0007],
];

/** Natural rates of `functions` functions, invocations a minute, not increasing: straight lines between the logarithms. */
export function naturalRates(functions: number): Float64Array {
  let knot = 0;
  return Float64Array.from({ length: functions }, (_, rank) => {
    const share = functions === 1 ? 0 : rank / (functions - 1);
    while (knot + 2 < RATE_BY_RANK.length && RATE_BY_RANK[knot + 1][0] <= share) knot++;
    const [fromShare, fromRate] = RATE_BY_RANK[knot];
    const [toShare, toRate] = RATE_BY_RANK[knot + 1];
    return fromRate * (toRate / fromRate) ** ((share - fromShare) / (toShare - fromShare));
  });
}
