import { NS_PER_MS } from '../../../src/base/units.js';
import { SHUTTING_DOWN, STANDS_BY, WORKER_LOST } from '../../../src/live/service.js';
import { type History, type HistoryEvent, nameOf } from '../history/history.js';
import { expectedOf, isPipeline, rowBytes } from '../scenario/expected.js';
import { DRAIN_NS, type Scenario } from '../scenario/scenario.js';
import { type Check, Findings } from './finding.js';
import { hasBegun, mayChangeDriver, mayLoseWorker } from './reasons.js';

type Answered = Extract<HistoryEvent, { readonly kind: 'answered' }>;
type Asked = Extract<HistoryEvent, { readonly kind: 'asked' }>;

/** From a client to the scheduler, through two threads. */
const ON_ITS_WAY_NS = 50 * NS_PER_MS;
const TAKES_NONE = /^SIGTERM: no new requests/;
/** Clocks are wrong by less. */
const CLOCK_ERROR = 1e-3;

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
      findings.add(event.atNs, what, (one) => 'request' in one && one.request === event.request);
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
  { text: /^no worker is up$/, isAllowed: (one) => mayLoseWorker(one.scenario, one.answer.atNs) },
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
