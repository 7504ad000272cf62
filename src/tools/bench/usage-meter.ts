import { cpus } from 'node:os';
import { performance } from 'node:perf_hooks';
import { monotonicNs } from '../../base/clock/clock.js';
import { NS_PER_S } from '../../base/units.js';

const US_PER_S = 1e6;

/** What a process used since it was asked last. */
export interface Usage {
  /** Share of the time in which its event loop was busy. */
  readonly busy: number;
  /** Processors that all of its threads used on average. */
  readonly cores: number;
}

/** Measures what this process uses, from one call to the next. */
export class UsageMeter {
  private loop = performance.eventLoopUtilization();
  private cpu = process.cpuUsage();
  private sinceNs = monotonicNs();

  take(): Usage {
    const loop = performance.eventLoopUtilization();
    const nowNs = monotonicNs();
    const { user, system } = process.cpuUsage(this.cpu);
    const usage = {
      busy: performance.eventLoopUtilization(loop, this.loop).utilization,
      cores: (user + system) / US_PER_S / ((nowNs - this.sinceNs) / NS_PER_S),
    };
    this.loop = loop;
    this.cpu = process.cpuUsage();
    this.sinceNs = nowNs;
    return usage;
  }
}

/** Measures how many cores of the machine are in use, by any program, from one call to the next. */
export class MachineMeter {
  private times = processorTimes();

  take(): number {
    const before = this.times;
    this.times = processorTimes();
    const all = this.times.all - before.all;
    return all === 0 ? 0 : ((this.times.busy - before.busy) / all) * cpus().length;
  }
}

function processorTimes(): { readonly busy: number; readonly all: number } {
  let busy = 0;
  let all = 0;
  for (const { times } of cpus()) {
    const sum = times.user + times.nice + times.sys + times.irq + times.idle;
    all += sum;
    busy += sum - times.idle;
  }
  return { busy, all };
}
