import type { Time, Timer } from '../../../base/world/time.js';
import type { ClockSync } from './clock-sync.js';

interface HeartbeatOptions {
  readonly everyMs: number;
  /** So long may the other side say nothing. */
  readonly silenceMs: number;
  readonly clock: ClockSync;
  readonly nowNs: () => number;
  readonly time: Time;
  readonly ping: (sentNs: number) => void;
  /** The clock is known well enough to begin. Called once. */
  readonly synchronised: () => void;
  readonly silent: () => void;
}

/**
 * Pings the other side of a stream at regular intervals, feeds the round trips to the clock's estimate, and notices
 * silence. It counts intervals without a word rather than time: a controller that was itself suspended or busy reads
 * what has come meanwhile before it takes a worker for dead.
 */
export class Heartbeat {
  private readonly options: HeartbeatOptions;
  private readonly timer: Timer;
  private silentIntervals = 0;
  /** Pings without an answer yet. */
  private readonly open = new Set<number>();

  constructor(options: HeartbeatOptions) {
    this.options = options;
    this.timer = options.time.every(options.everyMs, () => this.tick());
    this.ping();
  }

  /** Anything at all has come. */
  heard(): void {
    this.silentIntervals = 0;
  }

  /** False: no ping asked for it, or the time cannot be. */
  pong(sentNs: number, workerNs: number): boolean {
    if (!this.open.delete(sentNs) || !Number.isSafeInteger(workerNs)) return false;
    const { clock, nowNs, synchronised } = this.options;
    clock.add(sentNs, workerNs, nowNs());
    if (clock.samples === FIRST_SAMPLES) synchronised();
    else if (clock.samples < FIRST_SAMPLES) this.ping();
    return true;
  }

  stop(): void {
    this.timer.cancel();
  }

  private tick(): void {
    const { everyMs, silenceMs, silent } = this.options;
    this.silentIntervals++;
    if (this.silentIntervals * everyMs > silenceMs) silent();
    else this.ping();
  }

  private ping(): void {
    const nowNs = this.options.nowNs();
    this.open.add(nowNs);
    this.options.ping(nowNs);
  }
}

/** Round trips, one right after the other, before the clock is trusted: code is warm then and queues are empty. */
const FIRST_SAMPLES = 16;
