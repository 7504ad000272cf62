import type { ActionMessage, WorkerDescription, WorkerState } from '../messages.js';
import type { Driving, WorkerLink } from './link/worker-link.js';

/** A worker's place in the cluster. */
export interface Member {
  readonly link: WorkerLink;
  /** Its GPUs are `firstGpu` and those that follow, `gpus` in all: as many as are kept free while it is unknown. */
  firstGpu: number;
  gpus: number;
  /** So many of these it is known to have; 0: it has not been there yet. */
  known: number;
  description: WorkerDescription | null;
  state: WorkerState | null;
  /** Who drives it; the local one does not say. */
  drivenBy: Driving;
  /** It is connected, and used as soon as it has the models that it should have. */
  isAligning: boolean;
  /** Counts how often it came up or went down. */
  life: number;
  /** What is to be sent to it at the end of the step. */
  outbox: ActionMessage[];
}

export function newMember(link: WorkerLink): Member {
  const unknown = { description: null, state: null, drivenBy: 'none', isAligning: false } as const;
  return { link, firstGpu: 0, gpus: 0, known: 0, ...unknown, life: 0, outbox: [] };
}

/** It can be driven, or another controller drives it. */
export function isPresent({ state, description, drivenBy }: Member): boolean {
  return state !== null || (description !== null && drivenBy === 'another');
}
