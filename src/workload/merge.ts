import { invariant } from '../base/invariant.js';
import { BaseSource, type StreamedSource } from './source.js';

/**
 * Several sections of one run as one stream. Simultaneous arrivals come in the order of the sections; users are
 * numbered consecutively across sections, so that an answer finds its sender.
 */
export class MergedSource extends BaseSource {
  /** Index of the section that sends the pending arrival. */
  section = 0;
  readonly hasLengths: boolean;
  /** Present only if a section needs answers. */
  readonly answered?: (user: number, nowNs: number) => void;

  private readonly sources: readonly StreamedSource[];
  /** By section: time of its pending arrival, ns. */
  private readonly pendingNs: Float64Array;
  /** First user of each section. */
  private readonly firstUser: readonly number[];

  constructor(sources: readonly StreamedSource[]) {
    const firstUser: number[] = [];
    let users = 0;
    for (const source of sources) {
      firstUser.push(users);
      users += source.users;
    }
    super(0, users);
    invariant(sources.length > 0, 'a merged source needs at least one section');
    this.sources = sources;
    this.hasLengths = sources.some((source) => source.hasLengths === true);
    this.pendingNs = new Float64Array(sources.length);
    this.firstUser = firstUser;
    if (sources.some((source) => source.answered !== undefined)) {
      this.answered = (user, nowNs) => this.passAnswer(user, nowNs);
    }
    this.lookAtAll();
  }

  override advance(): void {
    const source = this.sources[this.section];
    source.advance();
    this.pendingNs[this.section] = source.timeNs;
    // Until it is refilled, its next arrival might precede those of the others.
    if (source.starved) this.starved = true;
    else this.select();
  }

  override async refill(): Promise<void> {
    for (const source of this.sources) if (source.starved) await source.refill();
    this.lookAtAll();
  }

  private lookAtAll(): void {
    this.sources.forEach((source, section) => {
      this.pendingNs[section] = source.timeNs;
    });
    this.starved = this.sources.some((source) => source.starved);
    if (!this.starved) this.select();
  }

  /** Selects the earliest pending arrival; ties go to the first section. */
  private select(): void {
    const { pendingNs } = this;
    let earliest = 0;
    for (let section = 1; section < pendingNs.length; section++) {
      if (pendingNs[section] < pendingNs[earliest]) earliest = section;
    }
    this.take(earliest);
  }

  private take(section: number): void {
    const source = this.sources[section];
    this.section = section;
    this.timeNs = source.timeNs;
    this.model = source.model;
    this.sloNs = source.sloNs;
    this.length = source.length;
    this.user = this.firstUser[section] + source.user;
    this.requestClass = source.requestClass;
    this.tenant = source.tenant;
  }

  private passAnswer(user: number, nowNs: number): void {
    let section = this.sources.length - 1;
    while (user < this.firstUser[section]) section--;
    const source = this.sources[section];
    if (source.answered === undefined) return;
    source.answered(user - this.firstUser[section], nowNs);
    this.pendingNs[section] = source.timeNs;
    // On a tie the pending arrival stays: a driver may be about to deliver it.
    if (!this.starved && source.timeNs < this.timeNs) this.take(section);
  }
}

/** Merges all sections of a run into one stream; see `MergedSource`. */
export function mergeSources(sources: readonly StreamedSource[]): MergedSource {
  return new MergedSource(sources);
}
