import type { HistoryEvent } from './history.js';

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
