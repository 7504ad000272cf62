import type { Time, Timer } from '../../../base/world/time.js';
import type { ClockSync } from './clock-sync.js';

interface HeartbeatOptions {
  readonly everyMs: number;
  /** Maximum silence of the other side. */
  readonly silenceMs: number;
  readonly clock: ClockSync;
  readonly nowNs: () => number;
  readonly time: Time;
  readonly ping: (sentNs: number) => void;
  /** Called once when the clock is known well enough to begin. */
  readonly synchronised: () => void;
  readonly silent: () => void;
}

/**
 * Pings the other side of a stream at regular intervals, feeds the round trips to the clock's estimate, and detects
 * silence. It counts silent intervals rather than time: a controller that was itself suspended or busy first reads what
 * has arrived before it declares a worker dead.
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

  /** Call on any incoming message. */
  heard(): void {
    this.silentIntervals = 0;
  }

  /** Handles an answer; false if no ping asked for it, or its time is impossible. */
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

/** Number of consecutive round trips before the clock is trusted: by then code is warm and queues are empty. */
const FIRST_SAMPLES = 16;
