import { sleepUntil } from '../tally.js';
import type { Attack } from '../target.js';
import { ACCESS_ATTACKS } from './access.js';
import { CALL_ATTACKS } from './calls.js';
import { CONNECTION_ATTACKS } from './connections.js';
import { FLOOD_ATTACKS } from './floods.js';
import { GRPC_ATTACKS } from './grpc.js';
import { JSON_ATTACKS } from './json.js';

/** No attack: what the machine itself does to the victim, alone and next to a process that only computes. */
const BASELINES: readonly Attack[] = [
  { name: 'nothing', setting: 'plain', run: (_target, _tally, untilMs) => sleepUntil(untilMs) },
  { name: 'a busy process', setting: 'plain', run: async (_target, _tally, untilMs) => compute(untilMs) },
];

export const ATTACKS: readonly Attack[] = [
  ...BASELINES,
  ...JSON_ATTACKS,
  ...GRPC_ATTACKS,
  ...CONNECTION_ATTACKS,
  ...FLOOD_ATTACKS,
  ...CALL_ATTACKS,
  ...ACCESS_ATTACKS,
];

function compute(untilMs: number): void {
  while (performance.now() < untilMs);
}
