import { Refusal, shown } from './refusal.js';

/** A class of requests as frontends know it. Plain data. */
export interface PriorityClass {
  readonly name: string;
  /** Values of the protocol's `priority` that mean it. */
  readonly priorities: readonly number[];
}

/**
 * Index of the class that the protocol's parameter `priority` means; without one, and for 0, which clients send by
 * default, it is the first. Throws a refusal for a value that means no class of this server.
 */
export function classOfPriority(priority: unknown, classes: readonly PriorityClass[]): number {
  if (priority === undefined || isNothing(priority)) return 0;
  const value = typeof priority === 'bigint' ? Number(priority) : priority;
  for (let i = 0; i < classes.length; i++) {
    if (classes[i].priorities.includes(value as number)) return i;
  }
  const known = classes.flatMap(({ priorities }) => priorities).sort((a, b) => a - b);
  const expected =
    known.length === 0
      ? 'only 0 is supported; slo_ms says how urgent a request is'
      : `expected 0 or ${known.slice(0, MOST_SHOWN).join(', ')}, got ${shown(priority)}`;
  throw new Refusal('invalid', `parameter priority: ${expected}`);
}

const MOST_SHOWN = 10;

/** Values that clients send where they mean none. */
export function isNothing(value: unknown): boolean {
  return value === 0 || value === 0n || value === '' || value === false || value === null;
}
