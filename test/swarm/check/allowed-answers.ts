import { NS_PER_MS } from '../../../src/base/units.js';
import { INPUTS_LOST, SHUTTING_DOWN, STANDS_BY, WORKER_LOST } from '../../../src/live/service.js';
import { type History, type HistoryEvent, nameOf } from '../history/history.js';
import type { FaultKind } from '../scenario/fault.js';
import type { Scenario } from '../scenario/scenario.js';
import { type Check, Findings } from './finding.js';

type Answered = Extract<HistoryEvent, { readonly kind: 'answered' }>;
type Asked = Extract<HistoryEvent, { readonly kind: 'asked' }>;

/** Each answer is of a kind that the history of its request allows: nothing fails without a reason. */
export const allowedAnswers: Check = {
  name: 'allowed answers',
  run({ events, scenario }: History) {
    const findings = new Findings('allowed answers');
    const asked = new Map<number, Asked>();
    const stopping = new Set<string>();
    for (const event of events) {
      if (event.kind === 'asked') asked.set(event.request, event);
      if (event.kind === 'asked to stop') stopping.add(event.process);
      if (event.kind !== 'answered') continue;
      const request = asked.get(event.request);
      if (request === undefined) continue;
      const isStopping = stopping.has(request.process);
      const problem = problemOf({ scenario, request, answer: event, isStopping });
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
  /** The server was asked to shut down before. */
  readonly isStopping: boolean;
}

/** Empty: there is none. */
function problemOf(one: Case): string {
  const { outcome, error } = one.answer;
  if (outcome === 'ok' || outcome === 'late') return problemOfOutputs(one);
  const reason = REASONS.find(({ text }) => text.test(error));
  if (reason === undefined) return `it is answered "${outcome}" for an unknown reason: "${error}"`;
  return reason.isAllowed(one) ? '' : `it is answered "${outcome}", "${error}", without a reason for that`;
}

function problemOfOutputs(one: Case): string {
  const { scenario, request, answer } = one;
  const expected = scenario.cluster.models.find(({ name }) => name === request.model)?.outputBytes ?? 0;
  const sizes = answer.outputBytes.join();
  if (sizes !== String(aligned(expected))) return `its outputs have ${sizes || 'no'} bytes, not ${expected}`;
  if (answer.outcome === 'ok' || isLate(one)) return '';
  return `it is answered "late" ${deadlineOf(one) - answer.atNs} ns before its deadline`;
}

/** Simulated models have outputs of 4-byte numbers. */
function aligned(bytes: number): number {
  return 4 * Math.max(1, Math.ceil(bytes / 4));
}

interface Reason {
  /** What the answer says. */
  readonly text: RegExp;
  isAllowed(one: Case): boolean;
}

/** What may take a worker away. */
const LOSSES: readonly FaultKind['kind'][] = [
  ...(['crash', 'stop', 'freeze', 'powerLoss', 'threadDies', 'threadHangs', 'cut', 'slowLink'] as const),
  ...([
    'disconnect',
    'corrupt',
    'clockJump',
    'clockDrift',
    'slowDevice',
    'deviceHangs',
    'lateResults',
  ] as const),
];

const REASONS: readonly Reason[] = [
  {
    // Its time is over or was never enough.
    text: /^$/,
    isAllowed: ({ answer }) => answer.outcome !== 'error',
  },
  { text: exactly(SHUTTING_DOWN), isAllowed: ({ isStopping }) => isStopping },
  // While it has time, it is tried elsewhere.
  { text: exactly(WORKER_LOST), isAllowed: (one) => has(one, LOSSES) && isLate(one) },
  { text: exactly(INPUTS_LOST), isAllowed: (one) => has(one, LOSSES) },
  { text: exactly(STANDS_BY), isAllowed: ({ scenario }) => scenario.cluster.controllers.length > 1 },
  { text: /^no worker is up$/, isAllowed: (one) => has(one, LOSSES) },
  {
    text: /^(?:the model has been unloaded|the model was replaced .*|there is no such model|clients have unloaded it.*)$/,
    isAllowed: ({ scenario }) => scenario.workload.changes.length > 0,
  },
  {
    text: /^a device fault of the plan/,
    isAllowed: (one) => has(one, ['deviceFails', 'outOfMemory']),
  },
];

function exactly(text: string): RegExp {
  return new RegExp(`^${text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')}$`);
}

/** Whether a fault of these kinds has begun. */
function has({ scenario, answer }: Case, kinds: readonly FaultKind['kind'][]): boolean {
  return scenario.faults.some((fault) => fault.atNs <= answer.atNs && kinds.includes(fault.kind));
}

/** Whether its deadline is over, by a clock that may be a little fast, or was set forward. */
function isLate(one: Case): boolean {
  const { request, answer } = one;
  const errorNs = request.sloNs / 1000 + NS_PER_MS;
  return answer.atNs > deadlineOf(one) - errorNs || has(one, ['clockJump']);
}

function deadlineOf({ request }: Case): number {
  return request.atNs + request.sloNs;
}
