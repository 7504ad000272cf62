export type Result = 'pass' | 'fail' | 'absent' | 'skipped';

/** How a case ended other than by passing. */
export class Finding extends Error {
  constructor(
    readonly result: Exclude<Result, 'pass'>,
    readonly reason: string,
  ) {
    super(reason);
  }
}

export function fail(reason: string): never {
  throw new Finding('fail', reason);
}

/** The server does not have what the case is about. */
export function absent(reason: string): never {
  throw new Finding('absent', reason);
}

/** This run cannot decide the case. */
export function skip(reason: string): never {
  throw new Finding('skipped', reason);
}

export function check(holds: boolean, reason: string): asserts holds {
  if (!holds) fail(reason);
}
