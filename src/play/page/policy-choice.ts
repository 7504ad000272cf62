import { formatDuration } from '../../config/units-text.js';
import { AUTO } from '../../policies/entry.js';
import { POLICIES } from '../../policies/registry.js';
import type { Setup } from '../share/address.js';
import { effectiveTree, textAt } from './effective.js';
import { withOverride } from './overrides.js';

const AHEAD = 'policy.scheduleAhead';
export const AHEADS = 'auto 1ms 2ms 3ms 4ms 5ms 6ms 8ms 10ms 15ms 20ms 50ms'.split(' ');

/** Policy of a lane. */
interface PolicyChoice {
  readonly kind: string;
  /** Null: the policy has no such option. */
  readonly scheduleAhead: string | null;
}

export function policyOf(setup: Setup, lane: number): PolicyChoice {
  const tree = effectiveTree(setup, lane);
  const kind = textAt(tree, ['policy', 'kind']) ?? 'escapement';
  const option = POLICIES.find((entry) => entry.kind === kind)?.options.scheduleAhead;
  const byDefault = typeof option?.default === 'number' ? formatDuration(option.default) : AUTO;
  const written = textAt(tree, ['policy', 'scheduleAhead']);
  return { kind, scheduleAhead: option === undefined ? null : (written ?? byDefault) };
}

/** Switches a lane to another policy with its own defaults: the file's options for the old one do not apply. */
export function withKind(setup: Setup, lane: number, kind: string): Setup {
  return withLane(setup, lane, [withDefaults(kind)]);
}

export function withScheduleAhead(setup: Setup, lane: number, value: string): Setup {
  return withLane(setup, lane, withOverride(setup.lanes[lane]!, AHEAD, value));
}

/** Adds or removes a second lane. */
export function withSecondLane(setup: Setup, kind: string | null): Setup {
  const [first] = setup.lanes;
  return { ...setup, lanes: kind === null ? [first!] : [first!, [withDefaults(kind)]] };
}

/** Override that selects a policy with its defaults. */
export function withDefaults(kind: string): string {
  return `policy={ kind: ${kind} }`;
}

function withLane(setup: Setup, lane: number, overrides: readonly string[]): Setup {
  return { ...setup, lanes: setup.lanes.map((before, i) => (i === lane ? overrides : before)) };
}
