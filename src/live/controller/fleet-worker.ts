import { invariant } from '../../base/invariant.js';
import type { ActionMessage, WorkerDescription, WorkerState } from '../messages.js';
import type { Driving, WorkerLink } from './link/worker-link.js';

/** Registration of a worker that came by itself. */
export interface Registration {
  /** HOST:PORT at which it serves. */
  readonly address: string;
  /** Name of its process. */
  readonly instance: string;
  /** Source host of the registration. */
  readonly host: string;
}

/**
 * Phase of a worker in a cluster: it is registered, but does not fit or has no room, and is not connected; it cannot be
 * reached, or another controller drives it; it is up, and gets the right models; its GPUs are used; they are, until it
 * is down for good; it is no longer part of the cluster.
 */
type Phase = 'waiting' | 'connecting' | 'joining' | 'serving' | 'draining' | 'gone';

/** A link may report a worker up again without having reported it down. */
const TRANSITIONS: Readonly<Record<Phase, readonly Phase[]>> = {
  waiting: ['connecting', 'gone'],
  connecting: ['joining', 'waiting', 'gone'],
  joining: ['joining', 'serving', 'connecting', 'waiting', 'gone'],
  serving: ['joining', 'connecting', 'draining'],
  draining: ['gone'],
  gone: [],
};

/** A worker of a fleet. Static ones are known from the start; dynamic ones register, and may leave for good. */
export class FleetWorker {
  phase: Phase = 'connecting';
  /** Number of transitions; work begun in an earlier phase is void. */
  life = 0;
  link: WorkerLink;
  /** Numbers of its GPUs in the cluster, reserved while it is unknown. An unknown dynamic worker has none. */
  gpuNumbers: readonly number[] = [];
  /** Number of these known to exist; 0: it has never been up. */
  known = 0;
  description: WorkerDescription | null = null;
  /** Index of its GPUs' kind in the cluster; 0 until there is one. */
  kind = 0;
  /** Name of its process; empty: unknown. */
  instance = '';
  /** State that it reported when it came up. */
  reported: WorkerState | null = null;
  /** Its driver; not reported by the local one. */
  drivenBy: Driving = 'none';
  /** True if another controller drives it, and leaves it to this one. */
  isYielded = false;
  /** Reason why it is not used although it could be reached, for people; empty: none known. */
  problem = '';
  /** Number of GPUs that it waits for room for; Infinity: it does not fit the cluster. */
  wants = 0;
  /** Messages to send at the end of the step, while it is in service. */
  outbox: ActionMessage[] = [];
  /** Keys of kept tensors to forget then. */
  forgotten: number[] = [];

  /** Last renewal of its registration; whether it has ever joined; its link's complaint about the address. */
  renewedNs = 0;
  everJoined = false;
  complaint = '';
  /** Trouble that was logged last. */
  logged = '';
  /** Reason why it leaves; empty: it stays. */
  leaving = '';
  leftNs = 0;

  /** `newLink`: connects to it; its parameter takes problems. `registration` null: it is static. */
  constructor(
    private readonly newLink: (complain: (what: string) => void) => WorkerLink,
    readonly registration: Registration | null = null,
  ) {
    this.link = this.dial();
  }

  /** Returns a new link, unstarted. */
  dial(): WorkerLink {
    return this.newLink((what) => {
      this.complaint = what;
    });
  }

  get isDynamic(): boolean {
    return this.registration !== null;
  }

  /** True if its link is in use. */
  get isDialed(): boolean {
    return this.phase !== 'waiting' && this.phase !== 'gone';
  }

  /** True if it can be driven, or another controller drives it. */
  get isPresent(): boolean {
    return this.isUp || (this.description !== null && this.drivenBy === 'another');
  }

  /** True if this controller drives it. */
  get isUp(): boolean {
    return this.phase === 'joining' || this.isServing;
  }

  get isServing(): boolean {
    return this.phase === 'serving' || this.phase === 'draining';
  }

  /** True if it is up, or about to be, or driven by another controller. */
  get isConnected(): boolean {
    return this.isDialed && (this.isUp || this.drivenBy !== 'none');
  }

  /** True if it has GPUs in the cluster, or will have them once there is one. */
  get hasGpuNumbers(): boolean {
    return this.gpuNumbers.length > 0;
  }

  /** True if its GPUs are used, by this controller or another. */
  get hasJoined(): boolean {
    return this.hasGpuNumbers && (this.isServing || this.drivenBy === 'another');
  }

  get hasLeft(): boolean {
    return this.phase === 'gone';
  }

  /** Reason why it is not used, or cannot be reached, for people; empty: none known. */
  get trouble(): string {
    if (this.problem !== '' || this.complaint === '' || this.everJoined)
      return this.problem || this.complaint;
    return this.description === null
      ? `no worker answers at ${this.link.name}: ${this.complaint}`
      : this.complaint;
  }

  become(phase: Phase): void {
    invariant(
      TRANSITIONS[this.phase].includes(phase),
      `a worker that is ${this.phase} does not become ${phase}`,
    );
    this.phase = phase;
    this.life++;
    // It takes no actions of before.
    if (!this.isServing) this.outbox = [];
  }
}
