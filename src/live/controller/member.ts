import type { ActionMessage, WorkerDescription, WorkerState } from '../messages.js';
import type { Driving, WorkerLink } from './link/worker-link.js';

/** A worker in the cluster. */
export interface Member {
  readonly link: WorkerLink;
  /** True if it registered itself, and may leave for good. Static workers are known from the start. */
  readonly isDynamic: boolean;
  /** Numbers of its GPUs in the cluster, reserved while it is unknown. An unknown dynamic worker has none. */
  gpuNumbers: readonly number[];
  /** Number of these known to exist; 0: it has not been there yet. */
  known: number;
  description: WorkerDescription | null;
  /** Index of its GPUs' kind in the cluster; 0 until there is one. */
  kind: number;
  /** Name of its process; empty: unknown. */
  instance: string;
  state: WorkerState | null;
  /** True if it is up and has the right models: its GPUs are used. */
  isInService: boolean;
  /** Its driver; not reported by the local one. */
  drivenBy: Driving;
  /** True if it is connected, and used as soon as it has the right models. */
  isAligning: boolean;
  /** True if it leaves for good when it is down. */
  isLeaving: boolean;
  hasLeft: boolean;
  /** Reason why it is not used although it could be reached, for people; empty: none known. */
  problem: string;
  /** Number of its GPUs, if there was no room for them; 0: there was, or unknown. */
  gpusWithoutRoom: number;
  /** Number of times it came up or went down. */
  life: number;
  /** Messages to send at the end of the step. */
  outbox: ActionMessage[];
}

export function newMember(link: WorkerLink, isDynamic = false): Member {
  const unknown = { description: null, kind: 0, state: null, drivenBy: 'none', isAligning: false } as const;
  return {
    ...{ link, isDynamic, gpuNumbers: [], known: 0, instance: '', ...unknown },
    ...{ isInService: false, isLeaving: false, hasLeft: false },
    ...{ problem: '', gpusWithoutRoom: 0, life: 0, outbox: [] },
  };
}

/** True if it can be driven, or another controller drives it. */
export function isPresent({ state, description, drivenBy }: Member): boolean {
  return state !== null || (description !== null && drivenBy === 'another');
}

/** True if its GPUs are used, by this controller or another. */
export function isUsed({ gpuNumbers, isInService, drivenBy }: Member): boolean {
  return gpuNumbers.length > 0 && (isInService || drivenBy === 'another');
}

/** True if it is up, or about to be. */
export function isConnected({ state, isAligning, drivenBy }: Member): boolean {
  return state !== null || isAligning || drivenBy !== 'none';
}

/** A dynamic worker, to the code that takes registrations. */
export class DynamicWorker {
  constructor(
    private readonly member: Member,
    private readonly dismiss: (member: Member, reason: string | null) => void,
  ) {}

  /** True if it has GPUs in the cluster, or will have them once there is one. */
  get hasGpuNumbers(): boolean {
    return this.member.gpuNumbers.length > 0;
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
