import { readFileSync } from 'node:fs';

/** CPU time of this machine since it started, in ticks of the kernel. */
export interface CpuTicks {
  readonly all: number;
  /** What the host gave to other guests although this one wanted it. */
  readonly stolen: number;
  readonly idle: number;
}

/** Now; zeros where there is no /proc. */
export function cpuTicks(): CpuTicks {
  try {
    return ticksOf(readFileSync('/proc/stat', 'latin1'));
  } catch {
    return { all: 0, stolen: 0, idle: 0 };
  }
}

/** The time in the text of /proc/stat. */
export function ticksOf(stat: string): CpuTicks {
  // user, nice, system, idle, iowait, irq, softirq, steal; guests, which follow, are a part of user and nice.
  const ticks = stat.split('\n', 1)[0].split(/\s+/).slice(1, 9).map(Number);
  const [, , , idle = 0, iowait = 0, , , stolen = 0] = ticks;
  return { all: ticks.reduce((sum, value) => sum + value, 0), stolen, idle: idle + iowait };
}

/** The share of CPU time that was stolen between two readings. */
export function stolenShare(from: CpuTicks, to: CpuTicks): number {
  return to.all > from.all ? (to.stolen - from.stolen) / (to.all - from.all) : 0;
}
