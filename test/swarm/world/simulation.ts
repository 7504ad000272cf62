import { invariant } from '../../../src/base/invariant.js';
import { type Random, stream } from '../../../src/base/random/streams.js';
import { EventDigest } from './event-digest.js';
import { EventQueue, type SimEvent } from './event-queue.js';
import { Guard, REAL } from './guard.js';
import { MachineClock, SimMachine, type SimMachineOptions } from './machine.js';
import { SimNetwork } from './network/sim-network.js';
import type { Incarnation, Tap } from './tap.js';
import { ThreadLoop } from './thread-loop.js';
import type { ThreadBodies } from './threads/sim-threads.js';
import { UncaughtErrors } from './uncaught-errors.js';

export interface SimulationOptions {
  /** All chance comes from it, in named streams: one fault more changes nothing else that is drawn. */
  readonly seed: number | string;
  /** What threads run, by the name of their entry's file. */
  readonly bodies?: ThreadBodies;
  /** Sees what happens. */
  readonly tap?: Tap;
}

/**
 * A deterministic world: machines with clocks and disks, processes with threads, a network, and one queue of all that is to
 * happen in them. Each event has a turn of the real event loop: all promises settle before the next, and what nothing has
 * caught by then counts as thrown in the thread of the event. Same seed, same `digest`.
 */
export class Simulation {
  /** True time, ns since the simulation began. No machine can see it. */
  nowNs = 0;
  /** So many have happened. */
  events = 0;
  readonly network: SimNetwork;
  readonly machines = new Map<string, SimMachine>();
  readonly tap: Tap;
  readonly bodies: ThreadBodies;
  private readonly queue = new EventQueue();
  private readonly sums = new EventDigest();
  private readonly guard = new Guard();
  private readonly outside: ThreadLoop;
  private lastSequence = 0;
  private lastLoop = 0;
  private lastId = 0;
  private running: Running | null = null;
  /** Turns have been asked for. */
  private isTurning = false;
  /** That of the event whose turn it is. */
  private current: ThreadLoop | null = null;
  private readonly errors = new UncaughtErrors((error) => this.uncaught(error));

  constructor(private readonly options: SimulationOptions) {
    this.tap = options.tap ?? {};
    this.bodies = options.bodies ?? {};
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
  run(untilNs: number): Promise<void> {
    return this.go({ untilNs, looks: null });
  }

  /** The same, up to `latestNs` at most: it ends when `isOver` says so, which is asked every so often. */
  runUntil(latestNs: number, everyNs: number, isOver: () => boolean): Promise<void> {
    const untilNs = Math.min(latestNs, this.nowNs + everyNs);
    return this.go({ untilNs, looks: { latestNs, everyNs, isOver } });
  }

  private async go(goal: Goal): Promise<void> {
    invariant(this.running === null, 'a simulation runs once at a time');
    const { guard, errors } = this;
    guard.install();
    errors.install();
    try {
      await new Promise<void>((resolve, reject) => {
        this.running = { goal, resolve, reject };
        if (!this.isTurning) this.takeTurns();
      });
    } finally {
      this.running = null;
      guard.isClosed = false;
      errors.remove();
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

  /** Code of a thread has thrown what nothing caught. */
  failed(of: Incarnation, thread: string, error: Error): void {
    this.tap.threw?.(this.nowNs, of, thread, error);
    if (this.tap.threw === undefined) this.running?.reject(error);
  }

  /** True: it belongs to the world. */
  private uncaught(error: Error): boolean {
    const { current } = this;
    if (current === null) return false;
    if (!current.isOver) current.thrown(error);
    return true;
  }

  /** Many at a time: the real event loop looks for what else there is to do only now and then. */
  private readonly takeTurns = () => {
    this.isTurning = true;
    for (let i = 0; i < TURNS; i++) REAL.setImmediate(this.turn);
    REAL.setImmediate(this.endTurns);
  };

  private readonly endTurns = () => {
    this.settle();
    this.isTurning = false;
    if (this.running !== null) this.takeTurns();
  };

  private readonly turn = () => {
    this.settle();
    const { running, queue } = this;
    if (running === null) return;
    let event = queue.first;
    while (event !== undefined && (event.run === null || event.loop.isOver || event.loop.holds(event))) {
      queue.pop();
      event = queue.first;
    }
    if (event === undefined || event.atNs > running.goal.untilNs) {
      this.arrive(running);
      return;
    }
    queue.pop();
    this.guard.isClosed = true;
    this.happens(event);
  };

  /** All has happened that was to be waited for. */
  private arrive({ goal, resolve }: Running): void {
    this.nowNs = Math.max(this.nowNs, goal.untilNs);
    const { looks } = goal;
    if (looks === null || this.nowNs >= looks.latestNs || looks.isOver()) resolve();
    else goal.untilNs = Math.min(looks.latestNs, this.nowNs + looks.everyNs);
  }

  /** Promises of the latest event have settled. */
  private settle(): void {
    this.guard.isClosed = false;
    const { current } = this;
    this.current = null;
    current?.settled?.();
  }

  private happens(event: SimEvent): void {
    this.nowNs = event.atNs;
    this.events++;
    this.sums.add(event.atNs);
    this.sums.add(event.loop.number * 4 + event.phase);
    const run = event.run as () => void;
    event.run = null;
    this.current = event.loop;
    try {
      run();
    } catch (error) {
      this.uncaught(error as Error);
    }
  }
}

/** How far to go. */
interface Goal {
  untilNs: number;
  /** Null: exactly so far. Otherwise there may be more to go. */
  readonly looks: {
    readonly latestNs: number;
    readonly everyNs: number;
    readonly isOver: () => boolean;
  } | null;
}

interface Running {
  readonly goal: Goal;
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
}

/** Events for which the real event loop looks after nothing else. */
const TURNS = 64;
