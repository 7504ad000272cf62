import { NS_PER_MS, NS_PER_S } from '../../../src/base/units.js';
import { Draw } from '../draw.js';
import type { Fault, FaultKind, ThreadName } from './fault.js';
import type { ClusterScenario } from './scenario.js';

const SHORTEST_NS = NS_PER_MS;
const LONGEST_NS = 8 * NS_PER_S;
/** Of one kind. */
const MOST = 6;

/**
 * The plan of what goes wrong. Each kind is on or off for a seed, so that combinations occur that would be rare if all were
 * always on (Groce et al., "Swarm Testing", ISSTA 2012).
 */
export function drawFaults(seed: number, cluster: ClusterScenario, loadNs: number): Fault[] {
  // Also runs in which nothing goes wrong, and in which much does.
  const share = new Draw(seed, 'faults').pick([0, 0.1, 0.2, 0.3, 0.5]);
  const faults = Object.entries(KINDS).flatMap(([name, kind]) => {
    // A stream of its own: a kind that is new changes no other.
    const draw = new Draw(seed, `faults/${name}`);
    if (!draw.chance(share)) return [];
    const world = new FaultDraw(draw, cluster, loadNs);
    return Array.from({ length: draw.log(1, MOST) }, () => world.fault(kind));
  });
  return faults.sort((a, b) => a.atNs - b.atNs);
}

class FaultDraw {
  constructor(
    private readonly draw: Draw,
    private readonly cluster: ClusterScenario,
    private readonly loadNs: number,
  ) {}

  fault(kind: (world: FaultDraw) => FaultKind): Fault {
    const atNs = this.draw.int(0, this.loadNs - 1);
    const drawn = kind(this);
    // All has ended when the load does.
    if (!('forNs' in drawn)) return { atNs, ...drawn };
    return { atNs, ...drawn, forNs: Math.min(drawn.forNs, this.loadNs - atNs) };
  }

  get worker(): { readonly process: string; readonly gpu: number } {
    const { name, gpus } = this.draw.pick(this.cluster.machines);
    return { process: name, gpu: this.draw.int(0, gpus - 1) };
  }

  get controller(): string {
    return this.draw.pick(this.cluster.controllers).name;
  }

  get process(): string {
    return this.draw.chance(0.6) ? this.worker.process : this.controller;
  }

  /** A controller and a worker, in either order. */
  get link(): { readonly from: string; readonly to: string } {
    const [a, b] = [this.controller, this.worker.process];
    return this.draw.chance(0.5) ? { from: a, to: b } : { from: b, to: a };
  }

  get thread(): { readonly process: string; readonly thread: ThreadName } {
    const process = this.process;
    const thread = process.startsWith('worker') ? 'executor' : 'frontend';
    return { process, thread };
  }

  /** Some last until all ends: longer than watches wait for a thread or a device that hangs. */
  get forNs(): number {
    return this.draw.chance(0.1) ? this.loadNs : this.draw.log(SHORTEST_NS, LONGEST_NS);
  }

  chance(probability: number): boolean {
    return this.draw.chance(probability);
  }

  int(least: number, most: number): number {
    return this.draw.int(least, most);
  }

  log(least: number, most: number): number {
    return this.draw.log(least, most);
  }
}

const KINDS: { readonly [K in FaultKind['kind']]: (world: FaultDraw) => FaultKind } = {
  crash: (world) => ({ kind: 'crash', process: world.process, forNs: world.forNs }),
  stop: (world) => ({ kind: 'stop', process: world.process, forNs: world.forNs }),
  freeze: (world) => ({ kind: 'freeze', process: world.process, forNs: world.forNs }),
  powerLoss: (world) => ({ kind: 'powerLoss', process: world.process, forNs: world.forNs }),
  threadDies: (world) => ({ kind: 'threadDies', ...world.thread }),
  threadHangs: (world) => ({ kind: 'threadHangs', ...world.thread, forNs: world.forNs }),
  cut: (world) => ({ kind: 'cut', ...world.link, isBothWays: world.chance(0.6), forNs: world.forNs }),
  slowLink: (world) => ({
    kind: 'slowLink',
    ...world.link,
    delayNs: world.log(NS_PER_MS, 500 * NS_PER_MS),
    jitterNs: world.log(NS_PER_MS, 200 * NS_PER_MS),
    forNs: world.forNs,
  }),
  disconnect: (world) => ({ kind: 'disconnect', ...world.link, isSaid: world.chance(0.5) }),
  corrupt: (world) => ({ kind: 'corrupt', ...world.link }),
  vanish: (world) => ({ kind: 'vanish', ...world.link }),
  dialTwice: (world) => ({ kind: 'dialTwice', ...world.link }),
  clockJump: (world) => ({
    kind: 'clockJump',
    machine: world.process,
    byNs: world.log(NS_PER_MS, 10 * NS_PER_S),
  }),
  clockDrift: (world) => ({ kind: 'clockDrift', machine: world.process, ppm: world.int(-200, 200) }),
  diskFull: (world) => ({ kind: 'diskFull', machine: world.controller, forNs: world.forNs }),
  diskFails: (world) => ({ kind: 'diskFails', machine: world.controller, forNs: world.forNs }),
  diskSlow: (world) => ({
    kind: 'diskSlow',
    machine: world.controller,
    delayNs: world.log(NS_PER_MS, 2 * NS_PER_S),
    forNs: world.forNs,
  }),
  slowDevice: (world) => ({
    kind: 'slowDevice',
    ...world.worker,
    factor: world.log(2, 50),
    forNs: world.forNs,
  }),
  deviceHangs: (world) => ({ kind: 'deviceHangs', ...world.worker, forNs: world.forNs }),
  deviceFails: (world) => ({ kind: 'deviceFails', ...world.worker, actions: world.int(1, 5) }),
  outOfMemory: (world) => ({ kind: 'outOfMemory', ...world.worker, forNs: world.forNs }),
  lateResults: (world) => ({
    kind: 'lateResults',
    ...world.worker,
    delayNs: world.log(NS_PER_MS, 200 * NS_PER_MS),
    forNs: world.forNs,
  }),
};
