import type { Guest } from '../guest.js';

/** What a worker says of itself. */
export interface Registration {
  /** HOST:PORT at which it serves. */
  readonly address: string;
  /** Names its process. */
  readonly instance: string;
  /** Where the registration came from. */
  readonly host: string;
}

/** A registration and what has become of it. */
export class Entry implements Registration {
  readonly address: string;
  readonly instance: string;
  readonly host: string;
  /** Null: it is not dialed. */
  guest: Guest | null = null;
  /** It has had places in the cluster: a worker serves there. */
  hasBeenPlaced = false;
  hasJoined = false;
  /** So many GPUs it has as far as is known: with less room it is not dialed. */
  gpus = 0;
  /** It has been refused for want of room, and that was said. */
  awaitsRoom = false;
  /** It does not go with the cluster, and will not. */
  isRefused = false;
  /** Why it is not used, for people; empty: nothing is known against it. */
  problem = '';
  /** What its link says of the address. */
  complaint = '';
  /** Why it goes; empty: it stays. */
  leaving = '';
  leftNs = 0;
  dialedNs = 0;

  constructor(
    { address, instance, host }: Registration,
    public renewedNs: number,
    /** It is not dialed earlier. */
    public notBeforeNs: number,
  ) {
    this.address = address;
    this.instance = instance;
    this.host = host;
  }

  complain(what: string): void {
    this.complaint = what;
  }
}
