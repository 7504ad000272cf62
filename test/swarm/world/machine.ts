import { invariant } from '../../../src/base/invariant.js';
import { SimDisk } from './disk.js';
import { SimProcess } from './process.js';
import type { Simulation } from './simulation.js';

export interface SimMachineOptions {
  /** What its monotonic clock says when the simulation begins. Default: drawn. */
  readonly originNs?: number;
  /** Its clock is so much too fast, in millionths. Default: 0. */
  readonly driftPpm?: number;
}

/** A machine: a clock, a disk, an address, and the processes on it. */
export class SimMachine {
  readonly clock: MachineClock;
  readonly disk: SimDisk;
  readonly address: string;
  /** It has lost power, and nothing was started since. */
  isOff = false;
  readonly processes = new Map<string, SimProcess>();
  private readonly waiting: (() => void)[] = [];

  constructor(
    readonly simulation: Simulation,
    readonly name: string,
    { originNs, driftPpm = 0 }: SimMachineOptions,
  ) {
    const drawnNs = Math.floor(simulation.random(`origin/${name}`)() * LONGEST_UP_NS);
    this.clock = new MachineClock(() => simulation.nowNs, { originNs: originNs ?? drawnNs, driftPpm });
    this.address = `10.0.0.${simulation.machines.size + 1}`;
    this.disk = new SimDisk(simulation);
  }

  /** A program that can run here, under a name of its own in the whole world. It does not run yet. */
  process(name: string, main: (process: SimProcess) => Promise<void> | void): SimProcess {
    const process = new SimProcess(this, name, main);
    this.processes.set(name, process);
    return process;
  }

  /** It is switched off: its processes are gone, without a word to anybody, and what its disk had not kept. */
  losePower(): void {
    this.simulation.network.forget(this);
    for (const process of this.processes.values()) process.crash();
    this.disk.losePower();
    this.isOff = true;
  }

  /** Something is started on it, which it may be off for. */
  powerOn(): void {
    this.isOff = false;
    for (const run of this.waiting.splice(0)) run();
  }

  /** Calls `run` when it is on. */
  whenOn(run: () => void): void {
    if (this.isOff) this.waiting.push(run);
    else run();
  }

  /** Its clock is so much ahead from now on, as after a suspend that other clocks have seen. */
  jumpClock(aheadNs: number): void {
    this.clock.jump(aheadNs);
    this.retime();
  }

  driftClock(ppm: number): void {
    this.clock.drift(ppm);
    this.retime();
  }

  private retime(): void {
    const processes = [...this.processes.values()];
    this.simulation.retime((loop) => processes.some((process) => process.owns(loop)));
  }
}

/** Machines have been up for a month at most. */
const LONGEST_UP_NS = 30 * 24 * 3600e9;

interface MachineClockOptions {
  /** What it says when the simulation begins. */
  readonly originNs: number;
  /** It is so much too fast, in millionths. */
  readonly driftPpm: number;
}

/** The monotonic clock of a simulated machine: it begins anywhere, drifts, and may jump ahead. */
export class MachineClock {
  private baseTrueNs = 0;
  private baseLocalNs: number;
  private rate: number;

  constructor(
    private readonly trueNowNs: () => number,
    { originNs, driftPpm }: MachineClockOptions,
  ) {
    this.baseLocalNs = Math.floor(originNs);
    this.rate = rateOf(driftPpm);
  }

  /** What it says now. */
  localNs(): number {
    return this.baseLocalNs + Math.floor((this.trueNowNs() - this.baseTrueNs) * this.rate);
  }

  /** The first instant, in true time, at which it says so. */
  trueNs(localNs: number): number {
    return this.baseTrueNs + Math.ceil((localNs - this.baseLocalNs) / this.rate);
  }

  /** It drifts otherwise from now on. */
  drift(ppm: number): void {
    this.rebase(0);
    this.rate = rateOf(ppm);
  }

  jump(aheadNs: number): void {
    invariant(aheadNs >= 0, 'a monotonic clock does not go back');
    this.rebase(aheadNs);
  }

  private rebase(aheadNs: number): void {
    this.baseLocalNs = this.localNs() + Math.floor(aheadNs);
    this.baseTrueNs = this.trueNowNs();
  }
}

function rateOf(driftPpm: number): number {
  return 1 + driftPpm / 1e6;
}
