import { NS_PER_MS, NS_PER_S } from '../../../src/base/units.js';
import { SHUTTING_DOWN, STANDS_BY, WORKER_LOST } from '../../../src/live/service.js';
import { type History, type HistoryEvent, nameOf, type ProcessLife } from '../history/history.js';
import { expectedOf, isPipeline, rowBytes } from '../scenario/expected.js';
import type { TenantScenario } from '../scenario/scenario.js';
import { DRAIN_NS, type Scenario } from '../scenario/scenario.js';
import { type Check, Findings } from './finding.js';
import { hasBegun, mayChangeDriver, mayLoseWorker } from './reasons.js';

/**
 * Every request gets exactly one answer; at most one if the process that had it, or its frontend's thread, ended before, and not
 * because the process was asked to shut down: it has answered all by then.
 */
export const oneAnswer: Check = {
  name: 'one answer',
  run({ events, scenario }: History) {
    const findings = new Findings('one answer');
    const open = new Map<number, Asked>();
    const closed = new Map<number, string>();
    const stopped = new Set<ProcessLife>();
    for (const event of events) {
      if (event.kind === 'asked to stop') stopped.add(event.process);
      if (event.kind === 'asked') open.set(event.request, event);
      else if (event.kind === 'answered' || event.kind === 'refused') {
        const { request, atNs } = event;
        const before = closed.get(request);
        const how = event.kind === 'answered' ? event.outcome : 'refused';
        if (before !== undefined)
          findings.add(
            atNs,
            `request ${request} is answered again: ${how}, after ${before}`,
            concernsRequest(request),
          );
        else if (!open.delete(request))
          findings.add(atNs, `request ${request} is answered, and was not asked`, concernsRequest(request));
        closed.set(request, how);
      } else if (cutsClients(event) && !(stopped.has(event.process) && closesInOrder(event, scenario)))
        forget(open, closed, event.process);
    }
    const endNs = events.at(-1)?.atNs ?? 0;
    for (const { request, atNs, process, model } of open.values())
      findings.add(
        endNs,
        `request ${request} for ${model}, asked of ${process} at ${(atNs / 1e9).toFixed(6)} s, has no answer`,
        concernsRequest(request),
      );
    return findings.list;
  },
};

type Ended = Extract<HistoryEvent, { readonly kind: 'frontendEnded' | 'crashed' | 'died' | 'exited' }>;

function cutsClients(event: HistoryEvent): event is Ended {
  return ['frontendEnded', 'crashed', 'died', 'exited'].includes(event.kind);
}

/** Of a process that was asked to shut down. */
function closesInOrder(event: Ended, { faults }: Scenario): boolean {
  if (event.kind === 'exited') return event.why === 'status 0';
  if (event.kind !== 'frontendEnded') return false;
  return !faults.some(
    (fault) =>
      (fault.kind === 'threadDies' || fault.kind === 'threadHangs') &&
      fault.thread === 'frontend' &&
      fault.process === nameOf(event.process) &&
      fault.atNs <= event.atNs,
  );
}

/** Its clients were cut off. An answer that comes nevertheless is one of a request that was not asked. */
function forget(open: Map<number, Asked>, closed: Map<number, string>, process: ProcessLife): void {
  for (const [request, asked] of open)
    if (asked.process === process) {
      open.delete(request);
      closed.set(request, 'its connection was cut');
    }
}

function concernsRequest(request: number): (event: HistoryEvent) => boolean {
  return (event) => 'request' in event && event.request === request;
}

/** From the thread that schedules to that of the frontend. */
const HANDOVER_NS = 2 * NS_PER_MS;
/** A request in flight for a minute is measured so much differently by a clock that is off by 1,000 ppm. */
const CLOCK_ERROR = 1e-3;

/** No answer says that it is in time, and is late; unless its process was frozen or its clock set forward meanwhile. */
export const inTime: Check = {
  name: 'in time',
  run({ events, scenario }: History) {
    const findings = new Findings('in time');
    const asked = new Map<number, Asked>();
    const stalls = stallsOf(events, scenario.faults);
    for (const event of events) {
      if (event.kind === 'asked') asked.set(event.request, event);
      if (event.kind !== 'answered' || event.outcome !== 'ok') continue;
      const request = asked.get(event.request);
      if (request === undefined) continue;
      const tookNs = event.atNs - request.atNs;
      const allowedNs = request.sloNs * (1 + CLOCK_ERROR) + HANDOVER_NS;
      if (tookNs <= allowedNs + stalledNs(stalls, request.process, request.atNs, event.atNs)) continue;
      const what = `request ${event.request} of ${request.process} is answered "ok" after ${ms(tookNs)}, with an SLO of ${ms(request.sloNs)}`;
      findings.add(event.atNs, what, concernsRequest(event.request));
    }
    return findings.list;
  },
};

interface Stall {
  /** Of the process, without its number. */
  readonly name: string;
  readonly beginNs: number;
  readonly endNs: number;
}

/** When processes did not run, or threads between client and scheduler, as the plan says. */
function stallsOf(events: History['events'], faults: History['scenario']['faults']): Stall[] {
  const stalls: Stall[] = faults.flatMap((fault) =>
    fault.kind === 'threadHangs'
      ? { name: fault.process, beginNs: fault.atNs, endNs: fault.atNs + fault.forNs }
      : [],
  );
  const frozen = new Map<ProcessLife, number>();
  for (const event of events) {
    if (event.kind === 'frozen') frozen.set(event.process, event.atNs);
    if (event.kind !== 'thawed') continue;
    const beginNs = frozen.get(event.process) ?? event.atNs;
    stalls.push({ name: event.process.split('#')[0], beginNs, endNs: event.atNs });
  }
  return stalls;
}

function stalledNs(stalls: readonly Stall[], process: ProcessLife, fromNs: number, toNs: number): number {
  const [name] = process.split('#');
  return stalls
    .filter((stall) => stall.name === name)
    .reduce(
      (sum, { beginNs, endNs }) => sum + Math.max(0, Math.min(toNs, endNs) - Math.max(fromNs, beginNs)),
      0,
    );
}

function ms(ns: number): string {
  return `${(ns / NS_PER_MS).toFixed(3)} ms`;
}

type Answered = Extract<HistoryEvent, { readonly kind: 'answered' }>;
type Asked = Extract<HistoryEvent, { readonly kind: 'asked' }>;

/** From a client to the scheduler, through two threads. */
const ON_ITS_WAY_NS = 50 * NS_PER_MS;
const TAKES_NONE = /^SIGTERM: no new requests/;

/** Each answer is of a kind that the history of its request allows: nothing fails without a reason. */
export const allowedAnswers: Check = {
  name: 'allowed answers',
  run({ events, scenario }: History) {
    const findings = new Findings('allowed answers');
    const asked = new Map<number, Asked>();
    /** Requests whose clients have gone. */
    const left = new Set<number>();
    /** By process: when it was asked to shut down. */
    const stopped = new Map<string, number>();
    /** By process: when it said that it takes no requests any more. */
    const closed = new Map<string, number>();
    for (const event of events) {
      if (event.kind === 'asked') asked.set(event.request, event);
      if (event.kind === 'left') left.add(event.request);
      // Who is asked again is stopping already.
      if (event.kind === 'asked to stop' && !stopped.has(event.process))
        stopped.set(event.process, event.atNs);
      if (event.kind === 'logged' && TAKES_NONE.test(event.line)) closed.set(event.process, event.atNs);
      if (event.kind !== 'answered') continue;
      const request = asked.get(event.request);
      if (request === undefined) continue;
      const stoppedNs = stopped.get(request.process) ?? null;
      const closedNs = closed.get(request.process) ?? Number.POSITIVE_INFINITY;
      const problem = problemOf({
        ...{ scenario, request, answer: event, stoppedNs, closedNs },
        hasLeft: left.has(event.request),
      });
      if (problem === '') continue;
      const what = `request ${event.request} for ${request.model} of ${nameOf(request.process)}: ${problem}`;
      findings.add(event.atNs, what, concernsRequest(event.request));
    }
    return findings.list;
  },
};

/** An answer with what it is judged by. */
interface Case {
  readonly scenario: Scenario;
  readonly request: Asked;
  readonly answer: Answered;
  /** Its client has gone. */
  readonly hasLeft: boolean;
  /** When the server was asked to shut down; null: it was not. */
  readonly stoppedNs: number | null;
  /** When it said that it takes no requests any more; infinite: it did not. */
  readonly closedNs: number;
}

/** A frontend's thread that hung reads what has come before it hears that the server takes no more. */
function isFrontendBehind({ scenario, request: { process, atNs } }: Case): boolean {
  return scenario.faults.some(
    (fault) =>
      fault.kind === 'threadHangs' &&
      fault.thread === 'frontend' &&
      fault.process === nameOf(process) &&
      atNs >= fault.atNs &&
      atNs <= fault.atNs + fault.forNs + ON_ITS_WAY_NS,
  );
}

/** Empty: there is none. */
function problemOf(one: Case): string {
  const { outcome, error } = one.answer;
  if (one.request.atNs > one.closedNs + ON_ITS_WAY_NS && !isFrontendBehind(one))
    return 'it is taken by a server that says it takes none';
  if (outcome === 'ok' || outcome === 'late') return problemOfOutputs(one);
  if (outcome === 'cancelled') return one.hasLeft ? '' : 'it is cancelled, and its client waits';
  const reason = REASONS.find(({ text }) => text.test(error.replace(/^step \S+: /, '')));
  if (reason === undefined) return `it is answered "${outcome}" for an unknown reason: "${error}"`;
  return reason.isAllowed(one) ? '' : `it is answered "${outcome}", "${error}", without a reason for that`;
}

function problemOfOutputs(one: Case): string {
  const { scenario, request, answer } = one;
  const { numbers } = expectedOf(scenario.cluster, request.model, request.request);
  const bytes = rowBytes(scenario.cluster, request.model);
  const [sizes, wanted] = [answer.outputBytes.join(), numbers.map(({ length }) => length * bytes).join()];
  if (sizes !== wanted) return `its outputs have ${sizes || 'no'} bytes, not ${wanted}`;
  const [found, expected] = [JSON.stringify(answer.numbers), JSON.stringify(numbers)];
  if (found !== expected) return `its outputs are ${found}, not ${expected}`;
  if (answer.outcome === 'ok' || isLate(one)) return '';
  return `it is answered "late" ${deadlineOf(one) - answer.atNs} ns before its deadline`;
}

interface Reason {
  /** What the answer says. */
  readonly text: RegExp;
  isAllowed(one: Case): boolean;
}

const REASONS: readonly Reason[] = [
  {
    // Its time is over or was never enough.
    text: /^$/,
    isAllowed: ({ answer }) => answer.outcome !== 'error',
  },
  { text: exactly(SHUTTING_DOWN), isAllowed: isLeftByDrain },
  // While it has time, it is tried elsewhere. Steps have less time.
  {
    text: exactly(WORKER_LOST),
    isAllowed: (one) =>
      mayLoseWorker(one.scenario, one.answer.atNs) &&
      (isLate(one) || isPipeline(one.scenario.cluster, one.request.model)),
  },
  { text: exactly(STANDS_BY), isAllowed: ({ scenario, answer }) => mayChangeDriver(scenario, answer.atNs) },
  {
    text: /^the tenant \S+ is over its rate of \S+\/s with bursts of \d+: it may send again in \d+ ms$/,
    isAllowed: isLimited,
  },
  {
    text: /^the tenant \S+ is over its share of \S+ % while the server is overloaded$/,
    isAllowed: ({ scenario, answer }) =>
      answer.outcome === 'rejected' && (scenario.cluster.tenants?.length ?? 0) > 1,
  },
  {
    text: /^(?:there was no time for the rest of the pipeline: \S+ ms had passed(?: after step \S+)?|step \S+ waited .*)$/,
    isAllowed: ({ scenario, request, answer }) =>
      answer.outcome === 'timeout' && isPipeline(scenario.cluster, request.model),
  },
  {
    text: /^the result of its INFER did not arrive$/,
    isAllowed: (one) =>
      one.answer.outcome === 'timeout' &&
      (isLate(one) || isPipeline(one.scenario.cluster, one.request.model)),
  },
  {
    text: /^no worker is up( that can run the model in time)?$/,
    isAllowed: (one) => mayLoseWorker(one.scenario, one.answer.atNs),
  },
  {
    text: /^(?:the model has been unloaded|a model of the pipeline has been unloaded|the model was replaced .*|there is no such model|pipeline \S+: step \S+: model .*|clients have unloaded it.*)$/,
    isAllowed: ({ scenario }) => scenario.workload.changes.length > 0,
  },
  {
    text: /^a device fault of the plan/,
    isAllowed: (one) => hasBegun(one.scenario, ['deviceFails', 'outOfMemory'], one.answer.atNs),
  },
];

function exactly(text: string): RegExp {
  return new RegExp(`^${text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')}$`);
}

/** Its tenant has a rate. Whether it was reached is another check's. */
function isLimited({ scenario, request, answer }: Case): boolean {
  const tenant = scenario.cluster.tenants?.[request.tenant ?? 0];
  return answer.outcome === 'rejected' && tenant !== undefined && tenant.rateRps !== null;
}

/** A server that ends answers what it has, for a while. */
function isLeftByDrain({ scenario, request, answer, stoppedNs }: Case): boolean {
  if (stoppedNs === null) return false;
  if (request.atNs > stoppedNs - ON_ITS_WAY_NS) return true;
  const drainedNs = answer.atNs - stoppedNs;
  return drainedNs > DRAIN_NS * (1 - CLOCK_ERROR) || hasBegun(scenario, ['clockJump'], answer.atNs);
}

/** Whether its deadline is over, by a clock that may be a little fast, or was set forward. */
function isLate(one: Case): boolean {
  const { request, answer } = one;
  const errorNs = request.sloNs * CLOCK_ERROR + NS_PER_MS;
  return answer.atNs > deadlineOf(one) - errorNs || hasBegun(one.scenario, ['clockJump'], answer.atNs);
}

function deadlineOf({ request }: Case): number {
  return request.atNs + request.sloNs;
}

/**
 * Nothing is answered as executed that no device has executed: at each moment INFERs have ended well for at least so many requests,
 * of the steps of a pipeline each.
 */
export const executed: Check = {
  name: 'executed',
  run({ events, scenario }: History) {
    const findings = new Findings('executed');
    const asked = new Map<number, string>();
    /** INFERs that run, by device and action: model and requests. */
    const running = new Map<string, { readonly model: string; readonly count: number }>();
    const done = new Map<string, number>();
    const answered = new Map<string, number>();
    for (const event of events) {
      if (event.kind === 'asked') asked.set(event.request, event.model);
      else if (event.kind === 'began' && event.what === 'INFER') running.set(keyOf(event), event);
      else if (event.kind === 'ended') {
        const infer = running.get(keyOf(event));
        running.delete(keyOf(event));
        if (infer !== undefined && event.isOk) add(done, infer.model, infer.count);
      } else if (event.kind === 'answered' && (event.outcome === 'ok' || event.outcome === 'late')) {
        const name = asked.get(event.request) ?? '';
        for (const { models, count } of expectedOf(scenario.cluster, name, event.request).runs) {
          const [model, ...variants] = models;
          if (variants.length > 0) continue;
          const answers = add(answered, model, count);
          const executions = done.get(model) ?? 0;
          if (answers > executions)
            findings.add(
              event.atNs,
              `request ${event.request} for ${name} is answered "${event.outcome}", the ${answers}th for ${model}, and devices have executed ${executions}`,
              concernsRequest(event.request),
            );
        }
      }
    }
    return findings.list;
  },
};

function keyOf({ process, gpu, action }: { process: string; gpu: number; action: number }): string {
  return `${process} ${gpu} ${action}`;
}

function add(counts: Map<string, number>, key: string, count: number): number {
  const sum = (counts.get(key) ?? 0) + count;
  counts.set(key, sum);
  return sum;
}

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
        findings.add(event.atNs, what, concernsRequest(event.request));
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
    findings.add(atNs, what, concernsRequest(request));
  }
}
