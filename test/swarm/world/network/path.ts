import type { Random } from '../../../../src/base/random/streams.js';
import type { Simulation } from '../simulation.js';
import type { ThreadLoop } from '../thread-loop.js';

/** How one direction between two machines is. */
export interface PathQuality {
  readonly delayNs: number;
  /** Up to so much more, drawn for each frame. */
  readonly jitterNs: number;
  readonly bytesPerS: number;
}

/** One direction between two machines, for all connections between them. */
export class Path {
  /** Nothing comes through; what was sent is sent again when it is over, as TCP does. */
  private cutSinceNs = Number.POSITIVE_INFINITY;
  private readonly waiting: (() => void)[] = [];
  /** So many frames that come next have a wrong byte. */
  corruptNext = 0;
  /** So many frames that come next do not arrive, though later ones do. */
  vanishNext = 0;
  /** So many connections that are made next in this direction are made twice. */
  doubleNext = 0;

  constructor(
    private readonly nowNs: () => number,
    private readonly random: Random,
    public quality: PathQuality,
  ) {}

  get isCut(): boolean {
    return this.cutSinceNs !== Number.POSITIVE_INFINITY;
  }

  cut(): void {
    if (!this.isCut) this.cutSinceNs = this.nowNs();
  }

  heal(): void {
    this.cutSinceNs = Number.POSITIVE_INFINITY;
    for (const resend of this.waiting.splice(0)) resend();
  }

  /** Calls `resend` when it is not cut any more. */
  whenHealed(resend: () => void): void {
    this.waiting.push(resend);
  }

  /** What passes until TCP tries again after a cut that began when `sentNs` had not come through: the pauses double. */
  resendDelayNs(sentNs: number): number {
    return Math.floor(this.random() * Math.min(this.nowNs() - sentNs, LONGEST_PAUSE_NS));
  }

  /** From the end of sending to the arrival. */
  delayNs(): number {
    const { delayNs, jitterNs } = this.quality;
    return delayNs + Math.floor(this.random() * jitterNs);
  }

  /** The same bytes, or with one that is wrong; null: they vanish. */
  passed(bytes: Buffer): Buffer | null {
    if (this.vanishNext > 0) {
      this.vanishNext--;
      return null;
    }
    if (this.corruptNext === 0 || bytes.length === 0) return bytes;
    this.corruptNext--;
    const damaged = Buffer.from(bytes);
    damaged[Math.floor(this.random() * bytes.length)] ^= 1 + Math.floor(this.random() * 255);
    return damaged;
  }
}

const LONGEST_PAUSE_NS = 30e9;

/** One direction of a connection: what is sent arrives in that order, or not at all. */
export class Lane {
  /** Nothing arrives any more, and neither end notices. */
  isDead = false;
  private sentNs = 0;
  private arrivesNs = 0;

  constructor(
    private readonly simulation: Simulation,
    readonly path: Path,
    private readonly receiver: () => ThreadLoop | null,
  ) {}

  /** `arrive` runs in the receiving thread. */
  send(bytes: number, arrive: () => void): void {
    if (this.isDead) return;
    const { simulation, path } = this;
    const { nowNs } = simulation;
    if (path.isCut) {
      path.whenHealed(() => {
        this.sentNs = Math.max(this.sentNs, simulation.nowNs + path.resendDelayNs(nowNs));
        this.send(bytes, arrive);
      });
      return;
    }
    this.sentNs = Math.max(this.sentNs, nowNs) + Math.ceil((bytes * 1e9) / path.quality.bytesPerS);
    this.arrivesNs = Math.max(this.arrivesNs, this.sentNs + path.delayNs());
    this.receiver()?.receive(this.arrivesNs - nowNs, () => {
      if (!this.isDead) arrive();
    });
  }
}
