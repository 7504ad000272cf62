import type { Logger } from 'pino';
import type { Time, Timer } from '../base/world/time.js';
import { sharePercents } from '../config/tenant-shares.js';
import type { RunObserver } from '../core/observer.js';
import type { Outcome, RequestTable } from '../core/request.js';
import { LIMIT_NONE, LIMIT_RATE, type Tenant } from '../core/tenants.js';

/** Time for which counts are gathered before the first line. */
const FIRST_MS = 1000;
/** Minimum interval between lines of one kind. */
const PAUSE_MS = 60_000;
/** Maximum number of clients or tenants named in a line. */
const MOST_NAMED = 5;

type Kind = 'tooManyConnections' | 'rate' | 'share' | 'metricsPort';
/** Text and advice of each kind. */
const LINES: Readonly<Record<Kind, { readonly what: string; readonly advice: string }>> = {
  tooManyConnections: {
    what: 'connections turned away because there are too many',
    advice:
      'an address may have half of --max-connections; if it is a proxy, have it use fewer, or raise --max-connections',
  },
  metricsPort: {
    what: 'connections to the metrics port closed because there are too many',
    advice: 'have such an address keep fewer open, or block it before it gets here',
  },
  rate: {
    what: 'requests beyond the rates of tenants refused',
    advice: 'have these tenants send less, or raise their rate or burst in the file of --experiment',
  },
  share: {
    what: 'GPUs are overloaded, so requests beyond the fair shares of tenants were refused',
    advice: 'have these tenants send less, add GPUs, or give them larger shares in the file of --experiment',
  },
};

/**
 * Logs rejected clients, counts and advice: at most one line per minute for each kind, and none without rejections.
 * Also observes the scheduler's refusals for limits of tenants.
 */
export class RefusalLog implements RunObserver {
  private readonly pending = new Map<Kind, Map<string, number>>();
  /** Kinds with a pending line. */
  private readonly timers = new Map<Kind, Timer>();
  /** By tenant: refusals of the scheduler since the last line. */
  private readonly refused: Readonly<Record<'rate' | 'share', Float64Array>>;
  /** By name: limits of the tenant. */
  private readonly limits = new Map<string, Readonly<Record<'rate' | 'share', string>>>();

  constructor(
    private readonly log: Pick<Logger, 'warn'>,
    private readonly time: Time,
    private readonly tenants: readonly Tenant[],
  ) {
    const { length } = tenants;
    this.refused = { rate: new Float64Array(length), share: new Float64Array(length) };
    const percents = sharePercents(tenants);
    for (const [i, { name, rateRps, burst }] of tenants.entries())
      this.limits.set(name, { rate: `rate ${rateRps}/s, burst ${burst}`, share: `share ${percents[i]}` });
  }

  add(counts: readonly { readonly why: Kind; readonly who: string; readonly count: number }[]): void {
    for (const { why, who, count } of counts) {
      const known = this.pending.get(why) ?? new Map<string, number>();
      this.pending.set(why, known);
      known.set(who, (known.get(who) ?? 0) + count);
      if (!this.timers.has(why)) this.sayAfter(why, FIRST_MS, 'in the last second');
    }
  }

  answered({ tenant, limit }: RequestTable, slot: number, _outcome: Outcome): void {
    if (limit[slot] === LIMIT_NONE) return;
    const kind = limit[slot] === LIMIT_RATE ? 'rate' : 'share';
    this.refused[kind][tenant[slot]]++;
    if (!this.timers.has(kind)) this.sayAfter(kind, FIRST_MS, 'in the last second');
  }

  completed(): void {}

  close(): void {
    for (const timer of this.timers.values()) timer.cancel();
  }

  /** Adds the scheduler's refusals to those of frontends. */
  private takeIn(kind: 'rate' | 'share'): void {
    const refused = this.refused[kind];
    const counts = this.tenants.map(({ name }, i) => ({ why: kind, who: name, count: refused[i] }));
    refused.fill(0);
    this.add(counts.filter(({ count }) => count > 0));
  }

  private sayAfter(kind: Kind, delayMs: number, when: string): void {
    const timer = this.time.after(delayMs, () => this.say(kind, when)).unref();
    this.timers.set(kind, timer);
  }

  private say(kind: Kind, when: string): void {
    if (kind === 'rate' || kind === 'share') this.takeIn(kind);
    const counts = this.pending.get(kind);
    this.pending.delete(kind);
    this.timers.delete(kind);
    if (counts === undefined) return;
    const { what, advice } = LINES[kind];
    const worst = [...counts].sort(([, a], [, b]) => b - a);
    const named = worst.slice(0, MOST_NAMED).map(([who, count]) => this.named(kind, who, count));
    const others = worst.slice(MOST_NAMED).reduce((sum, [, count]) => sum + count, 0);
    const all = others === 0 ? named : [...named, `others ${others}`];
    this.log.warn(`${what} ${when}: ${all.join(', ')}; ${advice}`);
    this.sayAfter(kind, PAUSE_MS, 'in the last minute');
  }

  private named(kind: Kind, who: string, count: number): string {
    const limits = this.limits.get(who);
    if (kind !== 'rate' && kind !== 'share') return `${shownClient(who)} ${count}`;
    return limits === undefined ? `${who} ${count}` : `${who} ${count} (${limits[kind]})`;
  }
}

/** An IPv6 client is shown as its /64. */
function shownClient(who: string): string {
  return who.includes(':') ? `${who}::/64` : who;
}
