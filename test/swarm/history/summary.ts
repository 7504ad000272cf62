import { endNsOf, type Fault } from '../scenario/fault.js';
import type { Scenario } from '../scenario/scenario.js';
import { type History, type HistoryEvent, nameOf } from './history.js';

/** What a scenario is, what went wrong, and what came of it, for people. Ends with a line break. */
export function summaryOf({ scenario, events }: History): string {
  return [
    clusterOf(scenario),
    loadOf(scenario),
    ...(scenario.faults.length === 0 ? ['no faults'] : scenario.faults.map(faultLine)),
    answersOf(events),
    ...processesOf(events),
    '',
  ].join('\n');
}

function clusterOf({ seed, cluster }: Scenario): string {
  const {
    machines,
    controllers,
    joining,
    policy,
    admission,
    models,
    pipelines = [],
    pages,
    control,
  } = cluster;
  const options = Object.entries(policy.options).map(([name, value]) => ` ${name}=${value}`);
  return [
    `seed ${seed}: GPUs ${machines.map(machineOf).join(', ')}`,
    `${counted(controllers.length, 'controller')}, workers ${joining === 'registers' ? 'that register' : 'from a list'}`,
    `policy ${policy.kind}${options.join('')}, admission ${admission}`,
    ...withSenders(cluster),
    `${counted(models.length, 'model')} and ${counted(pipelines.length, 'pipeline')}, loaded by ${control}, ${pages} pages per GPU`,
  ].join('; ');
}

function machineOf({ name, gpus, kind }: Scenario['cluster']['machines'][number]): string {
  const said = kind === undefined ? '' : ` (${kind.name}, ${kind.slowness}× as slow, ${kind.pages} pages)`;
  return `${gpus} on ${name}${said}`;
}

function withSenders({ classes = [], tenants = [], scaler }: Scenario['cluster']): string[] {
  return [
    ...(classes.length === 0 ? [] : [counted(classes.length, 'class', 'classes')]),
    ...(tenants.length === 0 ? [] : [counted(tenants.length, 'tenant')]),
    ...(scaler === undefined ? [] : [`scaler ${scaler.kind}`]),
  ];
}

function loadOf({ workload, loadNs }: Scenario): string {
  const clients = workload.clients.map(
    ({ name, models, sloNs, rateRps }) =>
      `${name} ${rateRps.toFixed(1)} r/s, SLO ${sloNs / 1e6} ms, ${counted(models.length, 'model')}`,
  );
  const changes = workload.changes.map(({ atNs, kind, model }) => `${kind} ${model} at ${secondsOf(atNs)}`);
  return [`load for ${secondsOf(loadNs)}: ${clients.join('; ')}`, ...changes].join('; ');
}

function faultLine(fault: Fault): string {
  const { atNs, kind, ...facts } = fault;
  const what = Object.entries(facts).map(([name, value]) =>
    name === 'forNs' ? `until ${secondsOf(endNsOf(fault))}` : `${name}=${value}`,
  );
  return `  ${secondsOf(atNs)} ${kind} ${what.join(' ')}`;
}

function answersOf(events: readonly HistoryEvent[]): string {
  const asked = events.filter(({ kind }) => kind === 'asked').length;
  const ends = countBy(events, (event) =>
    event.kind === 'answered' ? event.outcome : event.kind === 'refused' ? 'not ready' : null,
  );
  const answered = [...ends.values()].reduce((sum, count) => sum + count, 0);
  const each = [...ends].map(([how, count]) => `${count} ${how}`);
  return `${counted(asked, 'request')}: ${[...each, `${asked - answered} cut off`].join(', ')}`;
}

const ENDS = ['started', 'crashed', 'died', 'exited', 'frozen', 'threadDied'] as const;

function processesOf(events: readonly HistoryEvent[]): string[] {
  const counts = new Map<string, Map<string, number>>();
  for (const event of events) {
    const kind = ENDS.find((one) => one === event.kind);
    if (kind === undefined || !('process' in event)) continue;
    const name = nameOf(event.process);
    const of = counts.get(name) ?? new Map();
    counts.set(name, of.set(kind, (of.get(kind) ?? 0) + 1));
  }
  return [...counts].map(
    ([name, of]) => `${name}: ${[...of].map(([kind, count]) => `${kind} ${count}×`).join(', ')}`,
  );
}

function countBy(events: readonly HistoryEvent[], keyOf: (event: HistoryEvent) => string | null) {
  const counts = new Map<string, number>();
  for (const event of events) {
    const key = keyOf(event);
    if (key !== null) counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  return counts;
}

function counted(count: number, what: string, several = `${what}s`): string {
  return `${count} ${count === 1 ? what : several}`;
}

/** The last things that happened before and just after a time, as lines for people. */
export function traceAround(
  events: readonly HistoryEvent[],
  atNs: number,
  concerns: (event: HistoryEvent) => boolean = () => true,
): string[] {
  const near = events.filter((event) => event.atNs <= atNs + AFTER_NS && concerns(event));
  return near.slice(-LINES).map(lineOf);
}

/** One event as a line: when, what, and its facts. */
export function lineOf(event: HistoryEvent): string {
  const { atNs, kind, ...facts } = event;
  const said = Object.entries(facts).map(([name, value]) => `${name}=${textOf(value)}`);
  return [`${secondsOf(atNs)} ${kind}`, ...said].join(' ');
}

/** `12.345678 s`. */
export function secondsOf(atNs: number): string {
  return `${(atNs / 1e9).toFixed(6)} s`;
}

const LINES = 30;
const AFTER_NS = 1_000_000;
const LONGEST_TEXT = 200;

function textOf(value: unknown): string {
  const text = typeof value === 'string' ? value.replaceAll('\n', ' ⏎ ') : JSON.stringify(value);
  return text.length > LONGEST_TEXT ? `${text.slice(0, LONGEST_TEXT)}…` : text;
}
