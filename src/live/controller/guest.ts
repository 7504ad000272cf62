import { isConnected, isUsed, type Member } from './member.js';

/** Current state of a worker that registered itself. */
export class Guest {
  constructor(
    private readonly member: Member,
    private readonly dismiss: (member: Member, reason: string | null) => void,
  ) {}

  /** True if it has GPUs in the cluster, or will have them once there is one. */
  get hasPlaces(): boolean {
    return this.member.places.length > 0;
  }

  /** True if its GPUs are used, by this controller or another. */
  get hasJoined(): boolean {
    return isUsed(this.member);
  }

  /** True if a worker has answered at its address. */
  get isMet(): boolean {
    return this.member.description !== null || this.member.problem !== '';
  }

  /** True if it is up, or about to be, or driven by another controller. */
  get isConnected(): boolean {
    return isConnected(this.member);
  }

  /** Reason why it is not used, for people; empty: none known. */
  get problem(): string {
    return this.member.problem;
  }

  /** Number of GPUs for which there was no room, so that it had to leave; 0: it did not. */
  get gpusWithoutRoom(): number {
    return this.member.gpusWithoutRoom;
  }

  /** True once it is no longer a member. */
  get hasLeft(): boolean {
    return this.member.hasLeft;
  }

  /** Removes it for good: at once for this reason, or, with null, when it is down. */
  leave(reason: string | null): void {
    this.dismiss(this.member, reason);
  }
}
