/** A violated contract between parts of escapement: always a bug, never the operator's fault. */
export class InvariantError extends Error {
  constructor(message: string) {
    super(`invariant violated: ${message}`);
    this.name = 'InvariantError';
  }
}

/**
 * Stops the run when `condition` is false. Always on: a scheduler in a wrong state must not go on deciding. In hot
 * paths pass a constant message, so that nothing is built in the normal case.
 */
export function invariant(condition: boolean, message: string): asserts condition {
  if (!condition) throw new InvariantError(message);
}
