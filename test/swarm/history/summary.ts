import { endNsOf, type Fault } from '../scenario/fault.js';
import { type History, type HistoryEvent, nameOf } from './history.js';

/** What went wrong, and what came of it, for people. Ends with a line break. */
export function summaryOf({ scenario, events }: History): string {
  return [...scenario.faults.map(faultLine), answersOf(events), ...processesOf(events), ''].join('\n');
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
  return `requests: ${asked}; ${[...each, `${asked - answered} cut off`].join(', ')}`;
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
