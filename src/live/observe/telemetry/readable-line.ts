import { printable } from '../../../base/printable.js';

/** A line of the log as a person at a terminal reads it: time, level, message, and what else there is. */
export function readableLine(json: string): string {
  const { level, time, role, pid, msg = '', ...rest } = JSON.parse(json);
  const facts = Object.entries(rest).map(([key, value]) => `${key}=${shown(value)}`);
  const line = [String(time).slice(11, 23), String(level).toUpperCase().padEnd(5), `${role}:`, msg, ...facts];
  return printable(line.join(' '));
}

function shown(value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return /[\s"]/.test(text) ? JSON.stringify(text) : text;
}
