import { NS_PER_S } from '../../../src/base/units.js';
import type { FaultKind } from '../scenario/fault.js';
import type { Scenario } from '../scenario/scenario.js';

type Kind = FaultKind['kind'];

/** What may take a worker from its controller, besides a GPU that fails. */
const LOSSES: readonly Kind[] = [
  ...(['crash', 'stop', 'freeze', 'powerLoss', 'threadDies', 'threadHangs', 'cut', 'slowLink'] as const),
  ...([
    'disconnect',
    'corrupt',
    'vanish',
    'clockJump',
    'clockDrift',
    'slowDevice',
    'deviceHangs',
    'lateResults',
  ] as const),
];

/** Controllers need so long to agree on who drives, when they have just started or a driver has left. */
export const AGREE_NS = 5 * NS_PER_S;

/** Whether a fault of these kinds has begun. */
export function hasBegun({ faults }: Scenario, kinds: readonly Kind[], atNs: number): boolean {
  return faults.some((fault) => fault.atNs <= atNs && kinds.includes(fault.kind));
}

/** A GPU that fails so many INFERs in a row is given up, and its worker starts again. */
const GIVEN_UP_FAILURES = 3;

/** Whether a worker may have been taken from its controller. */
export function mayLoseWorker(scenario: Scenario, atNs: number): boolean {
  return hasBegun(scenario, LOSSES, atNs) || mayGiveUpGpu(scenario, atNs);
}

function mayGiveUpGpu({ faults }: Scenario, atNs: number): boolean {
  /** By process and GPU. */
  const failures = new Map<string, number>();
  for (const fault of faults) {
    if (fault.kind !== 'deviceFails' || fault.atNs > atNs) continue;
    const gpu = `${fault.process} ${fault.gpu}`;
    failures.set(gpu, (failures.get(gpu) ?? 0) + fault.actions);
  }
  return Math.max(...failures.values()) >= GIVEN_UP_FAILURES;
}

/** What a controller is started again after. */
const RESTARTS: readonly Kind[] = ['crash', 'stop', 'powerLoss', 'threadDies', 'threadHangs'];

/** Whether another controller may drive the workers from now on. One that was started again is another. */
export function mayChangeDriver(scenario: Scenario, atNs: number): boolean {
  const { controllers } = scenario.cluster;
  if (controllers.length < 2) return hasRestarted(scenario, controllers[0].name, atNs);
  const startedNs = Math.max(...controllers.map(({ startNs }) => startNs));
  return atNs < startedNs + AGREE_NS || mayLoseWorker(scenario, atNs);
}

function hasRestarted({ faults }: Scenario, name: string, atNs: number): boolean {
  return faults.some(
    (fault) =>
      fault.atNs <= atNs && RESTARTS.includes(fault.kind) && 'process' in fault && fault.process === name,
  );
}
