import type { ClusterStatus } from '../../live/observe/status/cluster-status.js';

/** Number of points kept; a status comes once a second. */
const MOST_POINTS = 600;

/** Rates of a server over the last ten minutes of the page. */
export class RateHistory {
  private start = '';
  private seconds: number[] = [];
  private goodputRps: number[] = [];
  private offeredRps: number[] = [];

  /** Forgets all of another start of the server. */
  began(start: string): void {
    if (start !== this.start) this.keep(0);
    this.start = start;
  }

  add({ upSeconds, goodputRps, offeredRps }: ClusterStatus): void {
    this.seconds.push(upSeconds);
    this.goodputRps.push(goodputRps ?? 0);
    this.offeredRps.push(offeredRps ?? 0);
    if (this.seconds.length > MOST_POINTS) this.keep(MOST_POINTS);
  }

  /** Seconds since the start of the server, goodput, and offered rate. */
  get columns(): readonly (readonly number[])[] {
    return [this.seconds, this.goodputRps, this.offeredRps];
  }

  private keep(points: number): void {
    const from = this.seconds.length - points;
    this.seconds = this.seconds.slice(from);
    this.goodputRps = this.goodputRps.slice(from);
    this.offeredRps = this.offeredRps.slice(from);
  }
}
