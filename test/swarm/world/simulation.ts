import { invariant } from '../../../src/base/invariant.js';
import { type Random, stream } from '../../../src/base/random/streams.js';
import { EventDigest } from './digest.js';
import { EventQueue, type SimEvent } from './event-queue.js';
import { Guard, REAL } from './guard.js';
import { SimMachine, type SimMachineOptions } from './machine.js';
import { MachineClock } from './machine-clock.js';
import { SimNetwork } from './network/sim-network.js';
import type { Tap } from './tap.js';
import { ThreadLoop } from './thread-loop.js';
import type { ThreadBodies } from './threads/sim-threads.js';
import { Trace } from './trace.js';

export interface SimulationOptions {
  /** All chance comes from it, in named streams: one fault more changes nothing else that is drawn. */
  readonly seed: number | string;
  /** What threads run, by the name of their entry's file. */
  readonly bodies?: ThreadBodies;
  /** How often threads are held up, as by garbage collection or a busy machine. Default: never. */
  readonly stalls?: Stalls;
  /** Sees what happens. */
  readonly tap?: Tap;
}

interface Stalls {
  /** Of one after an event. */
  readonly probability: number;
  /** Any duration up to this is as likely. */
  readonly longestNs: number;
}

/**
 * A deterministic world: machines with clocks and disks, processes with threads, a network, and one queue of all that is to
 * happen in them. After each event all promises settle before the next. Same seed, same `digest`.
 */
export class Simulation {
  /** True time, ns since the simulation began. No machine can see it. */
  nowNs = 0;
  /** So many have happened. */
  events = 0;
  readonly trace = new Trace();
  readonly network: SimNetwork;
  readonly machines = new Map<string, SimMachine>();
  readonly tap: Tap;
  readonly bodies: ThreadBodies;
  private readonly stalls: Stalls;
  private readonly queue = new EventQueue();
  private readonly sums = new EventDigest();
  private readonly guard = new Guard();
  private readonly outside: ThreadLoop;
  private lastSequence = 0;
  private lastLoop = 0;
  private lastId = 0;
  private running: Running | null = null;
  private latest: ThreadLoop | null = null;

  constructor(private readonly options: SimulationOptions) {
    this.tap = options.tap ?? {};
    this.bodies = options.bodies ?? {};
    this.stalls = options.stalls ?? { probability: 0, longestNs: 0 };
    const trueClock = new MachineClock(() => this.nowNs, { originNs: 0, driftPpm: 0 });
    this.outside = new ThreadLoop(this, 'outside', trueClock, (error) => this.running?.reject(error));
    this.network = new SimNetwork(this);
  }

  /** The same numbers whatever else is drawn. */
  random(name: string): Random {
    return stream(this.options.seed, name);
  }

  machine(name: string, options: SimMachineOptions = {}): SimMachine {
    invariant(!this.machines.has(name), 'machines have names of their own');
    const machine = new SimMachine(this, name, options);
    this.machines.set(name, machine);
    return machine;
  }

  /** Runs outside of all machines; what it throws ends `run`. */
  at(atNs: number, run: () => void): void {
    this.outside.receive(Math.max(0, atNs - this.nowNs), run);
  }

  /** Goes on until there is nothing to do up to this true time. May be called again. */
  async run(untilNs: number): Promise<void> {
    invariant(this.running === null, 'a simulation runs once at a time');
    const { guard } = this;
    const unhandled = (error: Error) => this.failed(null, error);
    guard.install();
    process.on('unhandledRejection', unhandled);
    try {
      await new Promise<void>((resolve, reject) => {
        this.running = { untilNs, resolve, reject, yieldAtNs: 0 };
        this.resume();
      });
    } finally {
      this.running = null;
      guard.isClosed = false;
      process.off('unhandledRejection', unhandled);
      guard.remove();
    }
  }

  /** Of all events so far. */
  get digest(): string {
    return this.sums.text;
  }

  /** Makes two runs differ that differ in this. */
  note(number: number): void {
    this.sums.add(number);
  }

  push(event: SimEvent, atNs: number): void {
    event.atNs = Math.ceil(atNs);
    event.sequence = ++this.lastSequence;
    this.queue.push(event);
  }

  /** Timers of these threads are due at other instants: the clock has changed. */
  retime(isOf: (loop: ThreadLoop) => boolean): void {
    const { nowNs } = this;
    this.queue.retime(({ loop, dueLocalNs }) =>
      Number.isNaN(dueLocalNs) || !isOf(loop) ? null : Math.max(nowNs, loop.trueNsOf(dueLocalNs)),
    );
  }

  newLoopNumber(): number {
    return ++this.lastLoop;
  }

  /** As `World.newId`. */
  newId(): string {
    return `sim-${++this.lastId}`;
  }

  /** Code has thrown what nothing caught. `who`: null if that is not known. */
  failed(who: string | null, error: Error): void {
    this.trace.add(this.nowNs, who ?? 'somebody', 'threw', error.stack);
    this.tap.threw?.(this.nowNs, who, error);
    if (this.tap.threw === undefined) this.running?.reject(error);
  }

  private readonly resume = () => {
    const { running } = this;
    if (running === null) return;
    running.yieldAtNs = Number(REAL.nowNs()) + STRETCH_NS;
    this.guard.isClosed = true;
    process.nextTick(this.next);
  };

  /** Promises of the event have settled by then, and those that they brought about. */
  private readonly afterPromises = () => process.nextTick(this.next);

  private readonly next = () => {
    const { running, queue } = this;
    if (running === null) return;
    this.latest?.settled?.();
    this.latest = null;
    let event = queue.first;
    while (event !== undefined && (event.run === null || event.loop.isOver || event.loop.holds(event))) {
      queue.pop();
      event = queue.first;
    }
    if (event === undefined || event.atNs > running.untilNs) {
      this.nowNs = Math.max(this.nowNs, running.untilNs);
      this.guard.isClosed = false;
      running.resolve();
      return;
    }
    if ((this.events & LOOK_MASK) === 0 && Number(REAL.nowNs()) > running.yieldAtNs) {
      running.yieldAtNs = Number.POSITIVE_INFINITY;
      this.guard.isClosed = false;
      REAL.setImmediate(this.resume);
      return;
    }
    queue.pop();
    this.happens(event);
    queueMicrotask(this.afterPromises);
  };

  private happens(event: SimEvent): void {
    this.nowNs = event.atNs;
    this.events++;
    this.sums.add(event.atNs);
    this.sums.add(event.loop.number * 4 + event.phase);
    const run = event.run as () => void;
    event.run = null;
    this.latest = event.loop;
    event.loop.stall(this.stalls);
    try {
      run();
    } catch (error) {
      event.loop.thrown(error as Error);
    }
  }
}

interface Running {
  readonly untilNs: number;
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
  /** Real time. */
  yieldAtNs: number;
}

/** Real time after which the real event loop gets a turn. */
const STRETCH_NS = 5_000_000;
/** It is looked at the real clock once in so many events. */
const LOOK_MASK = 63;
