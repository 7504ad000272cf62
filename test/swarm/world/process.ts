import type { Logger } from 'pino';
import { invariant } from '../../../src/base/invariant.js';
import { NS_PER_MS } from '../../../src/base/units.js';
import type { World } from '../../../src/live/world/world.js';
import { DeviceFaults } from './device-faults.js';
import type { SimMachine } from './machine.js';
import type { Incarnation, ProcessChange } from './tap.js';
import { simLogger } from './tap.js';
import { ThreadLoop } from './thread-loop.js';
import { type SimThread, SimThreads } from './threads/sim-threads.js';

/** A process on a simulated machine: not started, running, frozen, or over. It may run many times. */
export class SimProcess implements Incarnation {
  /** Counts its runs, from 1; 0: it has not run yet. */
  incarnation = 0;
  isUp = false;
  isFrozen = false;
  private readonly devices = new Map<number, DeviceFaults>();
  private loop: ThreadLoop | null = null;
  private ownWorld: World | null = null;
  private threads: SimThreads | null = null;
  private ownLog: Logger | null = null;

  constructor(
    readonly machine: SimMachine,
    readonly name: string,
    private readonly main: (process: SimProcess) => Promise<void> | void,
  ) {}

  get process(): string {
    return this.name;
  }

  /** What its main thread sees of the world. */
  get world(): World {
    invariant(this.ownWorld !== null, 'a process that has started is used');
    return this.ownWorld;
  }

  /** Its lines go to the tap. */
  get log(): Logger {
    invariant(this.ownLog !== null, 'a process that has started is used');
    return this.ownLog;
  }

  start(): void {
    invariant(!this.isUp, 'a process is started when it does not run');
    const { machine, name } = this;
    const { simulation } = machine;
    this.incarnation++;
    this.isUp = true;
    machine.powerOn();
    const label = `${name}.${this.incarnation}`;
    const loop = this.newLoop(label, (error) => this.thrown(error));
    this.loop = loop;
    this.threads = new SimThreads(this, loop);
    this.ownWorld = this.worldOf(loop);
    this.ownLog = simLogger(simulation, { process: name, incarnation: this.incarnation });
    this.changed('started');
    loop.receive(0, () => {
      const end = this.main(this);
      if (end !== undefined)
        end.catch((error: Error) => this.isUp && this.loop === loop && this.thrown(error));
    });
  }

  /** Runs in its main thread, as a handler of signals does. */
  signal(handle: () => void): void {
    this.loop?.receive(0, handle);
  }

  /** It ends at once, as by SIGKILL. The system closes its connections. */
  crash(): void {
    if (this.isUp) this.finish('crashed', '');
  }

  /** It ends by itself. */
  exit(status: number): void {
    if (this.isUp) this.finish('exited', `status ${status}`);
  }

  /** Nothing in it goes on until it is thawed, as after SIGSTOP. */
  freeze(): void {
    if (!this.isUp || this.isFrozen) return;
    this.isFrozen = true;
    for (const loop of this.loops) loop.freeze();
    this.changed('frozen');
  }

  thaw(): void {
    if (!this.isUp || !this.isFrozen) return;
    this.isFrozen = false;
    this.loop?.thaw();
    for (const thread of this.threads?.list ?? []) thread.thaw();
    this.changed('thawed');
  }

  /** Its threads besides the main one, in the order of their start. `kind`: the name of the entry's file without `-thread.js`. */
  threadsOf(kind: string): readonly SimThread[] {
    return this.threads?.list.filter((thread) => thread.kind === kind) ?? [];
  }

  /** What is wrong with one of its GPUs. */
  device(gpu: number): DeviceFaults {
    const known = this.devices.get(gpu);
    if (known !== undefined) return known;
    const faults = new DeviceFaults();
    this.devices.set(gpu, faults);
    return faults;
  }

  owns(loop: ThreadLoop): boolean {
    return this.loops.includes(loop);
  }

  /** What a thread of it sees of the world. */
  worldOf(loop: ThreadLoop): World {
    const { machine, threads } = this;
    const { simulation } = machine;
    invariant(threads !== null, 'a process that has started is used');
    return {
      time: loop,
      disk: machine.disk.seenFrom(loop),
      network: simulation.network.seenFrom(this, loop),
      threads: threads.startedFrom(loop),
      crowding: () => 1,
      newId: () => simulation.newId(),
      unixMs: () => EPOCH_MS + loop.monotonicNs() / NS_PER_MS,
    };
  }

  newLoop(label: string, thrown: (error: Error) => void): ThreadLoop {
    return new ThreadLoop(this.machine.simulation, label, this.machine.clock, thrown);
  }

  /** What the main thread throws ends the process. */
  private thrown(error: Error): void {
    this.machine.simulation.failed(this, 'main', error);
    this.finish('died', error.stack ?? error.message);
  }

  private get loops(): readonly ThreadLoop[] {
    const own = this.loop === null ? [] : [this.loop];
    return [...own, ...(this.threads?.list.map(({ loop }) => loop) ?? [])];
  }

  private finish(change: ProcessChange, why: string): void {
    this.isUp = false;
    this.isFrozen = false;
    for (const loop of this.loops) loop.end();
    this.machine.simulation.network.ended(this);
    this.changed(change, why);
    this.loop = null;
  }

  private changed(change: ProcessChange, why = ''): void {
    const { simulation } = this.machine;
    const { name, incarnation } = this;
    simulation.tap.process?.(simulation.nowNs, { process: name, incarnation }, change, why);
  }
}

/** When clocks that have always been right said 0. */
const EPOCH_MS = 1_800_000_000_000;
