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
    const stopping = new Map<string, number>();
    const outputBytes = new Map(scenario.cluster.models.map((model) => [model.name, model.outputBytes]));
    for (const event of events) {
      if (event.kind === 'asked') asked.set(event.request, event);
      if (event.kind === 'asked to stop') stopping.set(event.process, event.atNs);
      if (event.kind !== 'answered') continue;
      const request = asked.get(event.request);
      if (request === undefined) continue;
      const isStopping = stopping.has(request.process);
      const problem = problemOf(event, request, scenario, isStopping, outputBytes.get(request.model) ?? 0);
      if (problem === '') continue;
      const what = `request ${event.request} for ${request.model} of ${nameOf(request.process)}: ${problem}`;
      findings.add(event.atNs, what, (one) => 'request' in one && one.request === event.request);
    }
    return findings.list;
  },
};

/** Empty: there is none. */
function problemOf(
  answer: Answered,
  { atNs, sloNs }: Asked,
  scenario: Scenario,
  isStopping: boolean,
  outputBytes: number,
): string {
  const { outcome, error } = answer;
  if (outcome === 'ok' || outcome === 'late') {
    const sizes = answer.outputBytes.join();
    if (sizes !== String(aligned(outputBytes)))
      return `its outputs have ${sizes || 'no'} bytes, not ${outputBytes}`;
    const leftNs = atNs + sloNs - answer.atNs;
    // A clock may be ahead, but not by half of what was left.
    if (outcome === 'late' && leftNs > sloNs / 2 && !has(scenario, answer.atNs, ['clockJump']))
      return `it is answered "late" ${leftNs} ns before its deadline`;
    return '';
  }
  const reason = reasons.find(({ text }) => text.test(error));
  if (reason === undefined) return `it is answered "${outcome}" for an unknown reason: "${error}"`;
  if (reason.isAllowed(scenario, answer, isStopping)) return '';
  return `it is answered "${outcome}", "${error}", and nothing of the kind has happened`;
}

/** Simulated models have outputs of 4-byte numbers. */
function aligned(bytes: number): number {
  return 4 * Math.max(1, Math.ceil(bytes / 4));
}

interface Reason {
  /** What the answer says. */
  readonly text: RegExp;
  isAllowed(scenario: Scenario, answer: Answered, isStopping: boolean): boolean;
}

/** What may take a worker away. */
const LOSSES: readonly FaultKind['kind'][] = [
  ...(['crash', 'stop', 'freeze', 'threadDies', 'threadHangs', 'cut', 'slowLink', 'disconnect'] as const),
  ...([
    'corrupt',
    'deafness',
    'clockJump',
    'clockDrift',
    'deviceHangs',
    'slowDevice',
    'lateResults',
  ] as const),
];

const DEVICE_FAULTS: readonly FaultKind['kind'][] = ['deviceFails', 'outOfMemory'];

const reasons: readonly Reason[] = [
  {
    // Its time is over or was never enough.
    text: /^$/,
    isAllowed: (_, { outcome }) => outcome !== 'error',
  },
  { text: exactly(SHUTTING_DOWN), isAllowed: (_scenario, _answer, isStopping) => isStopping },
  { text: exactly(WORKER_LOST), isAllowed: (scenario, { atNs }) => has(scenario, atNs, LOSSES) },
  { text: exactly(INPUTS_LOST), isAllowed: (scenario, { atNs }) => has(scenario, atNs, LOSSES) },
  {
    text: exactly(STANDS_BY),
    isAllowed: ({ cluster }) => cluster.controllers.length > 1,
  },
  { text: /^no worker is up$/, isAllowed: (scenario, { atNs }) => has(scenario, atNs, LOSSES) },
  {
    text: /^(?:the model has been unloaded|the model was replaced .*|there is no such model|clients have unloaded it.*)$/,
    isAllowed: ({ workload }) => workload.changes.length > 0,
  },
  {
    text: /^the INFER was not executed: (?:too_late|weights_missing|weights_changed)$/,
    isAllowed: ({ cluster }) => cluster.missedWindow === 'fail',
  },
  {
    text: /^a device fault of the plan/,
    isAllowed: (scenario, { atNs }) => has(scenario, atNs, DEVICE_FAULTS),
  },
];

function exactly(text: string): RegExp {
  return new RegExp(`^${text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')}$`);
}

/** Whether a fault of these kinds has begun. */
function has({ faults }: Scenario, atNs: number, kinds: readonly FaultKind['kind'][]): boolean {
  return faults.some((fault) => fault.atNs <= atNs && kinds.includes(fault.kind));
}
