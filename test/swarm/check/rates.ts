import { NS_PER_MS, NS_PER_S } from '../../../src/base/units.js';
import { type History, type HistoryEvent, nameOf, type ProcessLife } from '../history/history.js';
import { isPipeline } from '../scenario/expected.js';
import type { TenantScenario } from '../scenario/scenario.js';
import { type Check, Findings } from './finding.js';

type Asked = Extract<HistoryEvent, { readonly kind: 'asked' }>;

/** From a client to the scheduler, through two threads. */
const ON_ITS_WAY_NS = 50 * NS_PER_MS;
/** Clocks are wrong by less. */
const CLOCK_ERROR = 1e-3;
const OVER_RATE = /^the tenant \S+ is over its rate/;

/**
 * Within any time a tenant gets no more requests through than its burst and its rate allow, and none is refused for its rate before
 * it has sent its burst. Processes that stand still take requests in at other times than they were sent.
 */
export const rates: Check = {
  name: 'rates',
  run({ events, scenario }: History) {
    const findings = new Findings('rates');
    const { tenants = [], pipelines } = scenario.cluster;
    const stood = new Set(
      scenario.faults.flatMap((fault) =>
        fault.kind === 'freeze' || fault.kind === 'threadHangs'
          ? fault.process
          : fault.kind === 'clockJump'
            ? fault.machine
            : [],
      ),
    );
    const refused = new Set<number>();
    const executed = new Set<number>();
    for (const event of events) {
      if (event.kind !== 'answered') continue;
      if (OVER_RATE.test(event.error)) refused.add(event.request);
      else if (event.outcome === 'ok' || event.outcome === 'late') executed.add(event.request);
    }
    const buckets = new Map<string, Bucket>();
    for (const event of events) {
      if (event.kind !== 'asked' || event.tenant === undefined) continue;
      const tenant = tenants[event.tenant];
      if (tenant === undefined || tenant.rateRps === null || stood.has(nameOf(event.process))) continue;
      const key = `${event.process} ${event.tenant}`;
      const bucket = buckets.get(key) ?? new Bucket(tenant, event.process);
      buckets.set(key, bucket);
      bucket.sent++;
      // Requests of steps come as their time comes.
      if (refused.has(event.request) && pipelines === undefined && bucket.sent <= tenant.burst) {
        const what = `request ${event.request} of ${tenant.name} is refused for its rate, the ${bucket.sent}th of a burst of ${tenant.burst}`;
        findings.add(event.atNs, what, (one) => 'request' in one && one.request === event.request);
      }
      if (executed.has(event.request) && !isPipeline(scenario.cluster, event.model))
        bucket.executed(event, findings);
    }
    return findings.list;
  },
};

/** What a tenant got through in one life of a controller: it leaks with its rate, and holds its burst. */
class Bucket {
  sent = 0;
  private level = 0;
  private lastNs = 0;

  constructor(
    private readonly tenant: TenantScenario,
    private readonly process: ProcessLife,
  ) {}

  executed({ request, atNs }: Asked, findings: Findings): void {
    const { name, burst } = this.tenant;
    const rateRps = this.tenant.rateRps ?? Number.POSITIVE_INFINITY;
    this.level =
      Math.max(0, this.level - ((atNs - this.lastNs) * rateRps * (1 + CLOCK_ERROR)) / NS_PER_S) + 1;
    this.lastNs = atNs;
    // What was sent a moment before may come a moment after.
    const most = burst + 1 + (2 * ON_ITS_WAY_NS * rateRps) / NS_PER_S;
    if (this.level <= most) return;
    const what = `${name} gets more through ${this.process} than ${rateRps} requests a second and a burst of ${burst} allow`;
    findings.add(atNs, what, (one) => 'request' in one && one.request === request);
  }
}
