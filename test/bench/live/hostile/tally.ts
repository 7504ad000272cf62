/** Counts what an attacker gets: answers by status, connections by how they ended. */
export class Tally {
  private readonly counts = new Map<string, number>();

  add(what: string | number): void {
    const key = String(what);
    this.counts.set(key, (this.counts.get(key) ?? 0) + 1);
  }

  get isEmpty(): boolean {
    return this.counts.size === 0;
  }

  /** The most frequent first. */
  get entries(): readonly (readonly [string, number])[] {
    return [...this.counts].sort(([, a], [, b]) => b - a);
  }
}

/** Runs `once` again and again in `lanes` at the same time, at least once each. */
export async function repeat(
  lanes: number,
  untilMs: number,
  once: (round: number) => Promise<unknown>,
): Promise<void> {
  const lane = async () => {
    for (let round = 0; round === 0 || performance.now() < untilMs; round++) {
      await once(round);
      // A port that refuses at once must not become a loop that never lets timers run.
      await new Promise((resolve) => setImmediate(resolve));
    }
  };
  await Promise.all(Array.from({ length: lanes }, lane));
}

export function sleepUntil(untilMs: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, Math.max(0, untilMs - performance.now())));
}
