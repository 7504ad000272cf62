import { type FleetOperatorRuns, mergeOperatorRuns, NO_OPERATORS } from '../operator-runs.js';
import type { WorkerLink } from './link/worker-link.js';

/** Records operators on all workers of a fleet. */
export class FleetRecording {
  private isOn = false;
  /** Who went down meanwhile, and why. */
  private lost: string[] = [];

  /** Does nothing while it records. */
  start(links: readonly WorkerLink[]): void {
    if (!this.isOn) this.lost = [];
    this.isOn = true;
    for (const link of links) link.startRecording();
  }

  /** Never rejects: a worker that fails does not cost the others'. */
  async stop(links: readonly WorkerLink[]): Promise<FleetOperatorRuns> {
    this.isOn = false;
    const problems = this.lost;
    const stop = (link: WorkerLink) =>
      link.stopRecording().catch((error: Error) => {
        problems.push(`${link.name}: ${error.message}`);
        return NO_OPERATORS;
      });
    return { ...mergeOperatorRuns(await Promise.all(links.map(stop))), problems };
  }

  cameUp(link: WorkerLink): void {
    if (this.isOn) link.startRecording();
  }

  wentDown({ name }: WorkerLink, reason: string): void {
    if (this.isOn) this.lost.push(`${name} went down: ${reason}`);
  }
}
