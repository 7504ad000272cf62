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
      path.heal();
    }
  for (const { process, machine } of roles) {
    process.thaw();
    for (const kind of ['link', 'executor', 'frontend'])
      for (const thread of process.threadsOf(kind)) thread.goOn();
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
    frozen.freeze();
    after(stage, forNs, () => frozen.thaw());
  },
  threadDies: (stage, { process, thread }) => {
    for (const one of stage.role(process).process.threadsOf(thread)) one.die(new Error(THREAD_FAULT));
  },
  threadHangs: (stage, { process, thread, forNs }) => {
    for (const one of stage.role(process).process.threadsOf(thread)) {
      one.hang();
      after(stage, forNs, () => one.goOn());
    }
  },
  cut: (stage, { from, to, isBothWays, forNs }) => {
    const paths = [pathOf(stage, from, to), ...(isBothWays ? [pathOf(stage, to, from)] : [])];
    for (const path of paths) {
      path.cut();
      after(stage, forNs, () => path.heal());
    }
  },
  slowLink: (stage, { from, to, delayNs, jitterNs, forNs }) => {
    const path = pathOf(stage, from, to);
    const { quality } = path;
    path.quality = { ...quality, delayNs: quality.delayNs + delayNs, jitterNs: quality.jitterNs + jitterNs };
    after(stage, forNs, () => {
      path.quality = quality;
    });
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
  clockJump: (stage, { machine, byNs }) => stage.role(machine).machine.jumpClock(byNs),
  clockDrift: (stage, { machine, ppm }) => stage.role(machine).machine.driftClock(ppm),
  diskFull: (stage, { machine, forNs }) => {
    const { faults } = stage.role(machine).machine.disk;
    faults.isFull = true;
    after(stage, forNs, () => {
      faults.isFull = false;
    });
  },
  diskFails: (stage, { machine, forNs }) => {
    const { faults } = stage.role(machine).machine.disk;
    faults.fails = true;
    after(stage, forNs, () => {
      faults.fails = false;
    });
  },
  slowDevice: (stage, fault) => {
    const device = deviceOf(stage, fault);
    device.slowness = fault.factor;
    after(stage, fault.forNs, () => {
      device.slowness = 1;
    });
  },
  deviceHangs: (stage, fault) => {
    const device = deviceOf(stage, fault);
    device.hangs = true;
    after(stage, fault.forNs, () => {
      device.hangs = false;
    });
  },
  deviceFails: (stage, fault) => {
    deviceOf(stage, fault).failNext += fault.actions;
  },
  outOfMemory: (stage, fault) => {
    const device = deviceOf(stage, fault);
    device.isOutOfMemory = true;
    after(stage, fault.forNs, () => {
      device.isOutOfMemory = false;
    });
  },
  lateResults: (stage, fault) => {
    const device = deviceOf(stage, fault);
    device.lateByNs = fault.delayNs;
    after(stage, fault.forNs, () => {
      device.lateByNs = 0;
    });
  },
};

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
