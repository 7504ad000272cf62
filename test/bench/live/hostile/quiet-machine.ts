import { type CpuTicks, cpuTicks, stolenShare } from './stolen.js';

/** More than this, and the figures of a row say more about the machine than about the server. */
export const MOST_STOLEN = 0.03;
/** Of the CPU time of all cores. */
const MOST_OTHERS = 0.05;
const PROBE_MS = 1000;
const PAUSE_MS = 4000;

/** Waits until nothing else wants this machine, for so long at most: figures that are measured then are those of the server. */
export async function untilQuiet(mostSeconds: number): Promise<void> {
  const untilMs = performance.now() + 1000 * mostSeconds;
  while (performance.now() < untilMs && !probe())
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
}

/** Whether a second of work on one core gets it, and leaves the others idle. A host takes only what is wanted. */
function probe(): boolean {
  const [from, ownFrom, untilMs] = [cpuTicks(), process.cpuUsage(), performance.now() + PROBE_MS];
  while (performance.now() < untilMs);
  const { user, system } = process.cpuUsage(ownFrom);
  return isQuiet(from, cpuTicks(), (user + system) / 1e6);
}

/** `ownSeconds`: of the CPU time between two readings, what this process took. */
export function isQuiet(from: CpuTicks, to: CpuTicks, ownSeconds: number): boolean {
  const all = to.all - from.all;
  const stolen = stolenShare(from, to);
  const others = 1 - stolen - (to.idle - from.idle + ownSeconds * TICKS_PER_S) / Math.max(1, all);
  return stolen <= MOST_STOLEN && others <= MOST_OTHERS;
}

/** Of /proc/stat, on every system that Node runs on. */
const TICKS_PER_S = 100;
