import { type FleetOperatorRuns, mergeOperatorRuns, NO_OPERATORS } from '../operator-runs.js';
import type { WorkerLink } from './link/worker-link.js';

/** Records operators on all workers of a fleet. */
export class FleetRecording {
  private isOn = false;
  /** Workers that went down meanwhile, with reasons. */
  private lost: string[] = [];

  /** No effect while recording. */
  start(links: readonly WorkerLink[]): void {
    if (!this.isOn) this.lost = [];
    this.isOn = true;
    for (const link of links) link.startRecording();
  }

  /** Never rejects: a worker's failure does not cost the others' recordings. */
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
