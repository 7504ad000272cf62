import { NS_PER_S } from '../../../src/base/units.js';
import type { FaultKind } from '../scenario/fault.js';
import type { Scenario } from '../scenario/scenario.js';

type Kind = FaultKind['kind'];

/** What may take a worker from its controller. */
export const LOSSES: readonly Kind[] = [
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

/** What a controller is started again after. */
const RESTARTS: readonly Kind[] = ['crash', 'stop', 'powerLoss', 'threadDies', 'threadHangs'];

/** Whether another controller may drive the workers from now on. One that was started again is another. */
export function mayChangeDriver(scenario: Scenario, atNs: number): boolean {
  const { controllers } = scenario.cluster;
  if (controllers.length < 2) return hasRestarted(scenario, controllers[0].name, atNs);
  const startedNs = Math.max(...controllers.map(({ startNs }) => startNs));
  return atNs < startedNs + AGREE_NS || hasBegun(scenario, LOSSES, atNs);
}

function hasRestarted({ faults }: Scenario, name: string, atNs: number): boolean {
  return faults.some(
    (fault) =>
      fault.atNs <= atNs && RESTARTS.includes(fault.kind) && 'process' in fault && fault.process === name,
  );
}
