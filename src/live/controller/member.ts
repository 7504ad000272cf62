import type { ActionMessage, WorkerDescription, WorkerState } from '../messages.js';
import type { Driving, WorkerLink } from './link/worker-link.js';

/** A worker's place in the cluster. */
export interface Member {
  readonly link: WorkerLink;
  /** It came by itself, and may leave for good. */
  readonly isGuest: boolean;
  /** Numbers of its GPUs in the cluster: as many as are kept free while it is unknown. A guest that is unknown has none. */
  places: readonly number[];
  /** So many of these it is known to have; 0: it has not been there yet. */
  known: number;
  description: WorkerDescription | null;
  /** Of its GPUs, by index in the cluster; 0 until there is one. */
  kind: number;
  /** What its process calls itself; empty: nothing is known. */
  instance: string;
  state: WorkerState | null;
  /** It is up and has the models that it should have: its GPUs are used. */
  isTakenOn: boolean;
  /** Who drives it; the local one does not say. */
  drivenBy: Driving;
  /** It is connected, and used as soon as it has the models that it should have. */
  isAligning: boolean;
  /** It goes for good when it is down. */
  isLeaving: boolean;
  hasLeft: boolean;
  /** Why it is not used although it could be reached, for people; empty: nothing is known. */
  problem: string;
  /** So many GPUs it has, and there was no room for them; 0: there was, or it is not known. */
  gpusWithoutRoom: number;
  /** Counts how often it came up or went down. */
  life: number;
  /** What is to be sent to it at the end of the step. */
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

/** It can be driven, or another controller drives it. */
export function isPresent({ state, description, drivenBy }: Member): boolean {
  return state !== null || (description !== null && drivenBy === 'another');
}

/** Its GPUs are used, or another controller uses them. */
export function isUsed({ places, isTakenOn, drivenBy }: Member): boolean {
  return places.length > 0 && (isTakenOn || drivenBy === 'another');
}

/** It is up, or about to be. */
export function isConnected({ state, isAligning, drivenBy }: Member): boolean {
  return state !== null || isAligning || drivenBy !== 'none';
}
