import { type Fault, THREAD_FAULT } from '../scenario/fault.js';
import type { Stage } from './stage.js';

type Of<K extends Fault['kind']> = Extract<Fault, { readonly kind: K }>;

/** Lets the faults of a scenario happen at their times. */
export function planFaults(stage: Stage): void {
  for (const fault of stage.scenario.faults)
    stage.simulation.at(fault.atNs, () =>
      (FAULTS[fault.kind] as (stage: Stage, fault: Fault) => void)(stage, fault),
    );
}

/** Ends all that goes on; the processes that are down come back. */
export function healAll(stage: Stage): void {
  const { simulation } = stage;
  const roles = [...stage.roles.values()];
  const machines = roles.map(({ machine }) => machine);
  const { delayNs, jitterNs } = stage.scenario.cluster;
  for (const from of machines)
    for (const to of machines) {
      if (from === to) continue;
      const path = simulation.network.path(from, to);
      path.quality = { ...path.quality, delayNs, jitterNs };
      path.corruptNext = 0;
      path.vanishNext = 0;
      path.doubleNext = 0;
      path.heal();
    }
  for (const { process, machine } of roles) {
    process.thaw();
    for (const kind of ['executor', 'frontend']) for (const thread of process.threadsOf(kind)) thread.goOn();
    Object.assign(machine.disk.faults, { isFull: false, fails: false, slowByNs: 0 });
  }
  for (const { name: process, gpus } of stage.scenario.cluster.machines)
    for (let gpu = 0; gpu < gpus; gpu++)
      Object.assign(deviceOf(stage, { process, gpu }), {
        ...{ slowness: 1, failNext: 0, isOutOfMemory: false, lateByNs: 0, hangs: false },
      });
  for (const role of roles) {
    role.downUntilNs = 0;
    stage.start(role);
  }
}

const FAULTS: { readonly [K in Fault['kind']]: (stage: Stage, fault: Of<K>) => void } = {
  crash: (stage, { process, forNs }) => {
    goDown(stage, process, forNs);
    stage.role(process).process.crash();
  },
  stop: (stage, { process, forNs }) => {
    goDown(stage, process, forNs);
    stage.stop(stage.role(process));
  },
  powerLoss: (stage, { process, forNs }) => {
    goDown(stage, process, forNs);
    stage.role(process).machine.losePower();
  },
  freeze: (stage, { process, forNs }) => {
    const frozen = stage.role(process).process;
    during(
      { stage, thing: frozen, what: 'freeze', forNs },
      () => frozen.freeze(),
      () => frozen.thaw(),
    );
  },
  threadDies: (stage, { process, thread }) => {
    for (const one of stage.role(process).process.threadsOf(thread)) one.die(new Error(THREAD_FAULT));
  },
  threadHangs: (stage, { process, thread, forNs }) => {
    for (const one of stage.role(process).process.threadsOf(thread)) {
      during(
        { stage, thing: one, what: 'hang', forNs },
        () => one.hang(),
        () => one.goOn(),
      );
    }
  },
  cut: (stage, { from, to, isBothWays, forNs }) => {
    const paths = [pathOf(stage, from, to), ...(isBothWays ? [pathOf(stage, to, from)] : [])];
    for (const path of paths) {
      during(
        { stage, thing: path, what: 'cut', forNs },
        () => path.cut(),
        () => path.heal(),
      );
    }
  },
  slowLink: (stage, { from, to, delayNs, jitterNs, forNs }) => {
    const path = pathOf(stage, from, to);
    const { cluster } = stage.scenario;
    const slower = (byNs: number, jitterByNs: number) => () => {
      const [ownNs, ownJitterNs] = [cluster.delayNs + byNs, cluster.jitterNs + jitterByNs];
      path.quality = { ...path.quality, delayNs: ownNs, jitterNs: ownJitterNs };
    };
    during({ stage, thing: path, what: 'slow', forNs }, slower(delayNs, jitterNs), slower(0, 0));
  },
  disconnect: (stage, { from, to, isSaid }) => {
    const { network } = stage.simulation;
    const [one, other] = [stage.role(from).machine, stage.role(to).machine];
    if (isSaid) network.reset(one, other);
    else network.silence(one, other);
  },
  corrupt: (stage, { from, to }) => {
    pathOf(stage, from, to).corruptNext++;
  },
  vanish: (stage, { from, to }) => {
    pathOf(stage, from, to).vanishNext++;
  },
  dialTwice: (stage, { from, to }) => {
    pathOf(stage, from, to).doubleNext++;
  },
  clockJump: (stage, { machine, byNs }) => stage.role(machine).machine.jumpClock(byNs),
  clockDrift: (stage, { machine, ppm }) => stage.role(machine).machine.driftClock(ppm),
  diskFull: (stage, { machine, forNs }) =>
    sets(stage, stage.role(machine).machine.disk.faults, { isFull: true }, { isFull: false }, forNs),
  diskFails: (stage, { machine, forNs }) =>
    sets(stage, stage.role(machine).machine.disk.faults, { fails: true }, { fails: false }, forNs),
  diskSlow: (stage, { machine, delayNs, forNs }) =>
    sets(stage, stage.role(machine).machine.disk.faults, { slowByNs: delayNs }, { slowByNs: 0 }, forNs),
  slowDevice: (stage, fault) =>
    sets(stage, deviceOf(stage, fault), { slowness: fault.factor }, { slowness: 1 }, fault.forNs),
  deviceHangs: (stage, fault) =>
    sets(stage, deviceOf(stage, fault), { hangs: true }, { hangs: false }, fault.forNs),
  deviceFails: (stage, fault) => {
    deviceOf(stage, fault).failNext += fault.actions;
  },
  outOfMemory: (stage, fault) =>
    sets(stage, deviceOf(stage, fault), { isOutOfMemory: true }, { isOutOfMemory: false }, fault.forNs),
  lateResults: (stage, fault) =>
    sets(stage, deviceOf(stage, fault), { lateByNs: fault.delayNs }, { lateByNs: 0 }, fault.forNs),
};

/** Something is otherwise for a while. */
interface Episode {
  readonly stage: Stage;
  readonly thing: object;
  readonly what: string;
  readonly forNs: number;
}

/** How many episodes of each sort go on, by thing. */
const going = new WeakMap<object, Map<string, number>>();

/** Episodes of one sort may overlap: the thing is well again when the last of them ends. */
function during({ stage, thing, what, forNs }: Episode, begin: () => void, end: () => void): void {
  const counts = going.get(thing) ?? new Map<string, number>();
  going.set(thing, counts);
  counts.set(what, (counts.get(what) ?? 0) + 1);
  begin();
  after(stage, forNs, () => {
    const left = (counts.get(what) ?? 0) - 1;
    counts.set(what, left);
    if (left === 0) end();
  });
}

function sets<T extends object>(
  stage: Stage,
  thing: T,
  ill: Partial<T>,
  well: Partial<T>,
  forNs: number,
): void {
  const [what = ''] = Object.keys(ill);
  during(
    { stage, thing, what, forNs },
    () => Object.assign(thing, ill),
    () => Object.assign(thing, well),
  );
}

function after(stage: Stage, forNs: number, run: () => void): void {
  stage.simulation.at(stage.simulation.nowNs + forNs, run);
}

function deviceOf(stage: Stage, { process, gpu }: { readonly process: string; readonly gpu: number }) {
  return stage.role(process).process.device(gpu);
}

function pathOf(stage: Stage, from: string, to: string) {
  return stage.simulation.network.path(stage.role(from).machine, stage.role(to).machine);
}

/** The process stays down for so long. */
function goDown(stage: Stage, name: string, forNs: number): void {
  const role = stage.role(name);
  const untilNs = stage.simulation.nowNs + forNs;
  role.downUntilNs = Math.max(role.downUntilNs, untilNs);
  after(stage, forNs, () => stage.start(role));
}
