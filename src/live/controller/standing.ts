import type { Member } from './member.js';

/** Tracks whether a controller stands by because another one drives the workers. */
export class Standing {
  by = false;

  /** Returns true on a change. */
  follow(members: readonly Member[]): boolean {
    const isOthers = members.some(({ drivenBy }) => drivenBy === 'another');
    const isOurs = members.some(({ drivenBy }) => drivenBy === 'this');
    // Between two drivers there may be none for a moment, which is not a change.
    const by = isOurs ? false : isOthers || this.by;
    if (by === this.by) return false;
    this.by = by;
    return true;
  }
}
