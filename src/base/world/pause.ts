import type { Time } from './time.js';

/** Resolves after this delay. Keeps the process alive until then. */
export function pause(time: Time, delayMs: number): Promise<void> {
  return new Promise((resolve) => time.after(delayMs, resolve));
}
