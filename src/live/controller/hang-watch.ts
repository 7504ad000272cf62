import type { Clock } from '../../base/clock/clock.js';
import { NS_PER_S } from '../../base/units.js';
import type { Timer } from '../../base/world/time.js';
import type { RequestTable } from '../../core/request.js';
import type { Answers } from './answers.js';
import type { Fleet } from './fleet.js';
import type { Outstanding } from './outstanding.js';

/** Polling interval. */
const WATCH_MS = 100;

/** Doubt a result that has not arrived after this multiple of its action's expected time, plus this. */
const DOUBTED_TIMES = 2;
const DOUBTED_NS = NS_PER_S;
/** Give up its worker after this multiple of the expected time, plus the configured time. */
const HUNG_TIMES = 10;

/**
 * Watches for missing results: requests that wait for one are answered once their deadline has passed, since nothing
 * can be in time any more; workers that owe one for too long are given up.
 */
export class HangWatch {
  private readonly timer: Timer;

  constructor(
    private readonly outstanding: Outstanding,
    private readonly answers: Answers,
    private readonly requests: RequestTable,
    private readonly options: { readonly clock: Clock; readonly fleet: Fleet; readonly hangNs: number },
  ) {
    this.timer = options.clock.time.every(WATCH_MS, () => this.look());
  }

  close(): void {
    this.timer.cancel();
  }

  private look(): void {
    const { outstanding, answers } = this;
    const { clock, fleet, hangNs } = this.options;
    const nowNs = clock.nowNs();
    for (const action of outstanding.overdue(nowNs, DOUBTED_TIMES, DOUBTED_NS))
      answers.overdue(this.requests, action, nowNs);
    answers.give();
    const hung = new Set(outstanding.overdue(nowNs, HUNG_TIMES, hangNs).map(({ gpu }) => gpu));
    for (const gpu of hung) fleet.restart(gpu, `GPU ${fleet.localGpu(gpu)} owes a result`);
  }
}
