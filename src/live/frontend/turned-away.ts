/** Why a frontend turned someone away: there are as many connections as there may be. */
export type TurnedAwayFor = 'tooManyConnections';

/** Number of clients turned away for one reason. Plain data: it crosses threads. */
export interface TurnedAwayCount {
  readonly why: TurnedAwayFor;
  /** The address of a client, as quotas tell them apart. */
  readonly who: string;
  readonly count: number;
}

/** More are counted together. */
const MOST_NAMED = 100;
const OTHERS = 'others';

/** Counts whom a frontend turns away, for the log of its server. */
export class TurnedAway {
  private readonly counts = new Map<TurnedAwayFor, Map<string, number>>();
  private isEmpty = true;

  /** `came` is called at the first count after each `take`. */
  constructor(private readonly came: () => void = () => {}) {}

  add(why: TurnedAwayFor, who: string): void {
    const counts = this.counts.get(why) ?? new Map<string, number>();
    this.counts.set(why, counts);
    const name = counts.has(who) || counts.size < MOST_NAMED ? who : OTHERS;
    counts.set(name, (counts.get(name) ?? 0) + 1);
    if (!this.isEmpty) return;
    this.isEmpty = false;
    this.came();
  }

  /** Returns the counts since the last call. */
  take(): TurnedAwayCount[] {
    const all = [...this.counts].flatMap(([why, counts]) =>
      [...counts].map(([who, count]) => ({ why, who, count })),
    );
    this.counts.clear();
    this.isEmpty = true;
    return all;
  }
}
