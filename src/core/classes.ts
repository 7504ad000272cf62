/** A class of requests of equal weight. */
export interface RequestClass {
  readonly name: string;
  /** Value of a request answered in time, relative to other classes; above 0. */
  readonly weight: number;
  /** Minimum share of GPU time, 0 to 1, while any of its requests wait; 0: no guarantee. */
  readonly share: number;
}

/** Default for a run that declares no classes: all requests weigh 1. */
export const ONE_CLASS: readonly RequestClass[] = [{ name: 'default', weight: 1, share: 0 }];

/** Limit on classes; a request stores its class in a byte. */
export const MOST_CLASSES = 64;
