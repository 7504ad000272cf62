import type { Simulation } from '../simulation.js';
import type { ThreadLoop } from '../thread-loop.js';
import type { Path } from './path.js';

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
