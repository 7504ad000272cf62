import { NS_PER_MS } from '../../../src/base/units.js';
import type { Time, Timer } from '../../../src/base/world/time.js';
import { CHECK, type Phase, POLL, type SimEvent, TIMERS } from './event-queue.js';
import type { MachineClock } from './machine.js';
import type { Simulation } from './simulation.js';

/** Something in a thread has thrown. */
type Thrown = (error: Error) => void;

/**
 * The event loop of one simulated thread. What it has to do dies with it; while it is frozen, it waits, and comes all at once
 * afterwards: timers first, then messages and sockets, as in Node.
 */
export class ThreadLoop implements Time {
  readonly number: number;
  isOver = false;
  /** Called after each event, when its promises have settled. */
  settled: (() => void) | null = null;
  /** Called when the thread ends, also with its process. */
  ended: (() => void) | null = null;
  private isFrozen = false;
  private held: SimEvent[] = [];
  private readonly salt: number;

  constructor(
    readonly simulation: Simulation,
    readonly name: string,
    private readonly clock: MachineClock,
    readonly thrown: Thrown,
  ) {
    this.number = simulation.newLoopNumber();
    this.salt = Math.floor(simulation.random(`timers/${name}`)() * 2 ** 32);
  }

  monotonicNs(): number {
    return this.clock.localNs();
  }

  after(delayMs: number, run: () => void): Timer {
    return new SimTimer(this, delayMs, run, false);
  }

  every(intervalMs: number, run: () => void): Timer {
    return new SimTimer(this, intervalMs, run, true);
  }

  soon(run: () => void): void {
    this.post(TURN_NS, CHECK, run);
  }

  /** Something from outside the thread comes to it: a message, bytes. */
  receive(delayNs: number, run: () => void): void {
    this.post(delayNs, POLL, run);
  }

  /** Runs when the clock of the machine says so, and up to `latestNs` later; what is due at the same time comes in order. */
  postAtLocal(dueLocalNs: number, run: () => void, latestNs = LATEST_NS): SimEvent {
    return this.post(Math.floor(this.latenessAt(dueLocalNs) * latestNs), TIMERS, run, dueLocalNs);
  }

  /** When its clock will say so, if it is not turned meanwhile. */
  trueNsOf(dueLocalNs: number): number {
    return this.clock.trueNs(dueLocalNs);
  }

  /** The thread does nothing from now on, and what comes waits. */
  freeze(): void {
    this.isFrozen = true;
  }

  thaw(): void {
    if (!this.isFrozen) return;
    this.isFrozen = false;
    const held = this.held.sort((a, b) => a.phase - b.phase);
    this.held = [];
    for (const event of held) this.simulation.push(event, this.simulation.nowNs);
  }

  end(): void {
    if (this.isOver) return;
    this.isOver = true;
    this.held = [];
    this.ended?.();
  }

  /** True: the thread is frozen, and the event waits. */
  holds(event: SimEvent): boolean {
    if (this.isFrozen) this.held.push(event);
    return this.isFrozen;
  }

  /** By chance in [0, 1), and always the same for the same time. */
  private latenessAt(localNs: number): number {
    const mixed = Math.imul((localNs % 2 ** 32) ^ this.salt, 0x9e3779b1);
    return (Math.imul(mixed ^ (mixed >>> 15), 0x85ebca6b) >>> 0) / 2 ** 32;
  }

  private post(delayNs: number, phase: Phase, run: () => void, dueLocalNs = Number.NaN): SimEvent {
    const event: SimEvent = { atNs: 0, sequence: 0, loop: this, phase, dueLocalNs, run };
    if (this.isOver) return event;
    const { simulation } = this;
    const { nowNs } = simulation;
    const fromNs = Number.isNaN(dueLocalNs) ? nowNs : Math.max(nowNs, this.trueNsOf(dueLocalNs));
    simulation.push(event, fromNs + delayNs);
    return event;
  }
}

/** A timer as Node's: it counts whole milliseconds of a clock that is read once a turn, so it may fire a little early. */
class SimTimer implements Timer {
  private event: SimEvent;
  private readonly delayMs: number;

  constructor(
    private readonly loop: ThreadLoop,
    delayMs: number,
    private readonly run: () => void,
    private readonly repeats: boolean,
  ) {
    this.delayMs = delayMs >= 1 && delayMs <= LONGEST_MS ? Math.trunc(delayMs) : 1;
    this.event = this.arm();
  }

  cancel(): void {
    this.event.run = null;
  }

  unref(): Timer {
    return this;
  }

  private arm(): SimEvent {
    const { loop } = this;
    const turnMs = Math.floor(loop.monotonicNs() / NS_PER_MS);
    return loop.postAtLocal((turnMs + this.delayMs) * NS_PER_MS, () => this.fire());
  }

  private fire(): void {
    if (this.repeats) this.event = this.arm();
    this.run();
  }
}

/** Node takes longer delays for 1 ms. */
const LONGEST_MS = 2 ** 31 - 1;
/** Timers fire up to so much late. */
const LATEST_NS = 300_000;
/** The rest of a turn of an event loop takes so long. */
const TURN_NS = 5_000;
