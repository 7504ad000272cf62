import type { Clock } from '../../base/clock/clock.js';
import type { Timer } from '../../base/world/time.js';
import type { Fleet } from './fleet.js';
import type { Outstanding } from './outstanding.js';

/** How often to look. */
const WATCH_MS = 100;

/** Gives up on workers that owe a result for too long. */
export class HangWatch {
  private readonly timer: Timer;

  constructor(
    private readonly outstanding: Outstanding,
    private readonly options: { readonly clock: Clock; readonly fleet: Fleet; readonly hangNs: number },
  ) {
    this.timer = options.clock.time.every(WATCH_MS, () => this.look());
  }

  close(): void {
    this.timer.cancel();
  }

  private look(): void {
    const { clock, fleet, hangNs } = this.options;
    for (const gpu of this.outstanding.overdueGpus(clock.nowNs(), hangNs)) {
      fleet.restart(gpu, `GPU ${fleet.localGpu(gpu)} owes a result`);
    }
  }
}
