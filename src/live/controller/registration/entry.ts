import type { DynamicWorker } from '../member.js';

/** A worker's registration. */
export interface Registration {
  /** HOST:PORT at which it serves. */
  readonly address: string;
  /** Name of its process. */
  readonly instance: string;
  /** Source host of the registration. */
  readonly host: string;
}

/** A registration and its state. */
export class Entry implements Registration {
  readonly address: string;
  readonly instance: string;
  readonly host: string;
  /** Null: not dialed. */
  worker: DynamicWorker | null = null;
  /** True if its GPUs have had numbers in the cluster: a worker serves there. */
  hadGpuNumbers = false;
  hasJoined = false;
  /** Number of its GPUs, if known: with less room it is not dialed. */
  gpus = 0;
  /** True if it was refused for lack of room, which was logged. */
  awaitsRoom = false;
  /** True if it does not fit the cluster, and never will. */
  isRefused = false;
  /** Reason why it is not used, for people; empty: none known. */
  problem = '';
  /** Complaint of its link about the address. */
  complaint = '';
  /** Reason why it leaves; empty: it stays. */
  leaving = '';
  leftNs = 0;
  dialedNs = 0;

  constructor(
    { address, instance, host }: Registration,
    public renewedNs: number,
    /** Earliest time to dial it. */
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
