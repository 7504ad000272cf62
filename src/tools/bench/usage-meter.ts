import { cpus } from 'node:os';
import { performance } from 'node:perf_hooks';
import { monotonicNs } from '../../base/clock/clock.js';
import { NS_PER_S } from '../../base/units.js';

const US_PER_S = 1e6;

/** Resource usage of a process since the last call. */
export interface Usage {
  /** Share of the time in which its event loop was busy. */
  readonly busy: number;
  /** Mean number of processors used by all of its threads. */
  readonly cores: number;
}

/** Measures the resource usage of this process between calls. */
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

/** Measures the cores of the machine used by any program between calls. */
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
