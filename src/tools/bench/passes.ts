/** One value of the key that is varied has its turn: so many trials of each stage. */
interface Pass {
  /** Of the value. */
  readonly index: number;
  readonly trials: number;
}

/**
 * Through the values and back, with half of the trials each way, so that a machine that becomes slower or faster
 * meanwhile favours none of them. Of an odd number, the way there has one more; with one trial there is no way back. A
 * single value has all its trials at once.
 */
export function passesOf(values: number, trials: number): Pass[] {
  const there = Array.from({ length: values }, (_, index) => index);
  const backTrials = values === 1 ? 0 : Math.floor(trials / 2);
  const back = backTrials === 0 ? [] : there.toReversed();
  return [
    ...there.map((index) => ({ index, trials: trials - backTrials })),
    ...back.map((index) => ({ index, trials: backTrials })),
  ];
}
