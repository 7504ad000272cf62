import { isConnected, isUsed, type Member } from './member.js';

/** A worker that came by itself, as it is now. */
export class Guest {
  constructor(
    private readonly member: Member,
    private readonly dismiss: (member: Member, reason: string | null) => void,
  ) {}

  /** It has GPUs of the cluster, or will have them when there is one. */
  get hasPlaces(): boolean {
    return this.member.places.length > 0;
  }

  /** Its GPUs are used, or another controller uses them. */
  get hasJoined(): boolean {
    return isUsed(this.member);
  }

  /** A worker has answered at its address. */
  get isMet(): boolean {
    return this.member.description !== null || this.member.problem !== '';
  }

  /** It is up, or about to be, or another controller drives it. */
  get isConnected(): boolean {
    return isConnected(this.member);
  }

  /** Why it is not used, for people; empty: nothing is known against it. */
  get problem(): string {
    return this.member.problem;
  }

  /** It had to go because there is no room for so many GPUs; 0: it did not. */
  get gpusWithoutRoom(): number {
    return this.member.gpusWithoutRoom;
  }

  /** It is a member no more. */
  get hasLeft(): boolean {
    return this.member.hasLeft;
  }

  /** It leaves for good: at once, for this reason; null: when it is down. */
  leave(reason: string | null): void {
    this.dismiss(this.member, reason);
  }
}
