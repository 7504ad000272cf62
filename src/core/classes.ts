/** Requests that weigh alike: users who matter alike. */
export interface RequestClass {
  readonly name: string;
  /** What a request of it answered in time is worth, relative to those of other classes; above 0. */
  readonly weight: number;
  /** Least share of GPU time, 0 to 1, that its requests get as long as some of them wait; 0: no guarantee. */
  readonly share: number;
}

/** Of a run that declares no classes: all requests weigh 1. */
export const ONE_CLASS: readonly RequestClass[] = [{ name: 'default', weight: 1, share: 0 }];

/** A request's class is a byte. */
export const MOST_CLASSES = 64;
