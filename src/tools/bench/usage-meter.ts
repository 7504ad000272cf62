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
