import { ApiError, shown } from './api-error.js';

/** A class of requests as frontends know it. Plain data. */
export interface PriorityClass {
  readonly name: string;
  /** Values of the protocol's `priority` that mean it. */
  readonly priorities: readonly number[];
}

/**
 * Index of the class that the protocol's parameter `priority` means; without one, and for 0, which clients send by
 * default, it is the first. Throws an `ApiError` for a value that means no class of this server.
 */
export function classOfPriority(priority: unknown, classes: readonly PriorityClass[]): number {
  if (priority === undefined || isNothing(priority)) return 0;
  const value = typeof priority === 'bigint' ? Number(priority) : priority;
  for (let i = 0; i < classes.length; i++) {
    if (classes[i].priorities.includes(value as number)) return i;
  }
  const expected = hasPriorities(classes)
    ? `expected one of ${prioritiesOf(classes)}, got ${shown(priority)}`
    : 'only 0 is supported; slo_ms says how urgent a request is';
  throw new ApiError('invalid', `parameter priority: ${expected}`);
}

/** True if clients can ask for a class. */
export function hasPriorities(classes: readonly PriorityClass[]): boolean {
  return classes.some(({ priorities }) => priorities.length > 0);
}

/** `0, 1 (gold), 8, 9 (batch-jobs)`: the values of each class, in order of the smallest. */
function prioritiesOf(classes: readonly PriorityClass[]): string {
  const named = classes
    .filter(({ priorities }) => priorities.length > 0)
    .map(({ name, priorities }) => ({ name, values: [...priorities].sort((a, b) => a - b) }))
    .sort((a, b) => a.values[0] - b.values[0]);
  const texts = named.slice(0, MOST_SHOWN).map(({ name, values }) => {
    const rest = values.length > MOST_SHOWN ? ', …' : '';
    return `${values.slice(0, MOST_SHOWN).join(', ')}${rest} (${name})`;
  });
  return ['0', ...texts, ...(named.length > MOST_SHOWN ? ['…'] : [])].join(', ');
}

const MOST_SHOWN = 10;

/** Values that clients send where they mean none. */
export function isNothing(value: unknown): boolean {
  return value === 0 || value === 0n || value === '' || value === false || value === null;
}
