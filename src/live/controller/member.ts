import type { ActionMessage, WorkerDescription, WorkerState } from '../messages.js';
import type { Driving, WorkerLink } from './link/worker-link.js';

/** A worker's place in the cluster. */
export interface Member {
  readonly link: WorkerLink;
  /** True if it registered itself, and may leave for good. */
  readonly isGuest: boolean;
  /** Numbers of its GPUs in the cluster, reserved while it is unknown. An unknown guest has none. */
  places: readonly number[];
  /** Number of these known to exist; 0: it has not been there yet. */
  known: number;
  description: WorkerDescription | null;
  /** Index of its GPUs' kind in the cluster; 0 until there is one. */
  kind: number;
  /** Name of its process; empty: unknown. */
  instance: string;
  state: WorkerState | null;
  /** True if it is up and has the right models: its GPUs are used. */
  isTakenOn: boolean;
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

export function newMember(link: WorkerLink, isGuest = false): Member {
  const unknown = { description: null, kind: 0, state: null, drivenBy: 'none', isAligning: false } as const;
  return {
    ...{ link, isGuest, places: [], known: 0, instance: '', ...unknown },
    ...{ isTakenOn: false, isLeaving: false, hasLeft: false },
    ...{ problem: '', gpusWithoutRoom: 0, life: 0, outbox: [] },
  };
}

/** True if it can be driven, or another controller drives it. */
export function isPresent({ state, description, drivenBy }: Member): boolean {
  return state !== null || (description !== null && drivenBy === 'another');
}

/** True if its GPUs are used, by this controller or another. */
export function isUsed({ places, isTakenOn, drivenBy }: Member): boolean {
  return places.length > 0 && (isTakenOn || drivenBy === 'another');
}

/** True if it is up, or about to be. */
export function isConnected({ state, isAligning, drivenBy }: Member): boolean {
  return state !== null || isAligning || drivenBy !== 'none';
}
