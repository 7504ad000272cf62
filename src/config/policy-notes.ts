import type { Padding } from '../core/lengths.js';
import { shortestExecNs } from '../core/model.js';
import { POLICY_NOTES, type PolicyNote } from '../record/policy-notes.js';
import { entryOf, noteOnKinds } from './create-policy.js';
import type { Experiment } from './experiment.js';
import type { PolicyChoice } from './schema-policy.js';
import { formatDuration } from './units-text.js';

/** Features of an experiment that a policy may not support. */
interface Asked {
  readonly policy: PolicyChoice;
  /** Number of kinds of GPUs. */
  readonly kinds: number;
  readonly hasClasses: boolean;
  readonly hasLengths: boolean;
  /** Number of tenants. */
  readonly tenants: number;
  readonly padding: Padding;
}

/** Features of an experiment that its policy does not support. */
export function policyNotes(asked: Asked): PolicyNote[] {
  const { policy, kinds, hasClasses, hasLengths, tenants, padding } = asked;
  const { weights, sharesFirst = false, batchesByLength = false } = entryOf(policy) ?? {};
  const unsupported: Readonly<Record<(typeof POLICY_NOTES)[number], boolean>> = {
    weights: hasClasses && weights !== 'used',
    shares: tenants > 1 && !sharesFirst,
    sharesWithLengths: tenants > 1 && sharesFirst && padding === 'bucket',
    lengths: hasLengths && !batchesByLength,
    lengthsWithClasses: hasLengths && batchesByLength && hasClasses,
  };
  const onKinds = noteOnKinds(policy, kinds);
  return [
    ...POLICY_NOTES.filter((about) => unsupported[about]).map((about) => ({ policy: policy.kind, about })),
    ...(onKinds === null ? [] : [{ policy: policy.kind, about: 'kinds' as const, text: onKinds }]),
  ];
}

/** Notes on the policy of a whole experiment. */
export function experimentNotes(experiment: Experiment): PolicyNote[] {
  const { policy, cluster, classes, models, tenants, padding, warnings } = experiment;
  const hasLengths = models.some(({ lengths }) => lengths !== undefined);
  const tooShort = sloNote(experiment);
  return [
    ...policyNotes({
      ...{ policy, kinds: cluster.kinds.length, hasClasses: classes.length > 0, hasLengths },
      ...{ tenants: tenants.list.length, padding },
    }),
    ...warnings.map((text) => ({ policy: policy.kind, about: 'models' as const, text })),
    ...(tooShort === null ? [] : [{ policy: policy.kind, about: 'slo' as const, text: tooShort }]),
  ];
}

/** Warns about models with which no request can be in time, even alone, at the longest SLO. Null if there are none. */
export function sloNote({
  models,
  workloads,
  sloNs,
}: Pick<Experiment, 'models' | 'workloads' | 'sloNs'>): string | null {
  // Rows may each have their own SLO.
  if (workloads.some((spec) => spec.kind === 'arrivals' && !spec.overrideSlo)) return null;
  const longestNs = Math.max(...workloads.map((spec) => spec.sloNs ?? sloNs));
  const slow = models.filter((model) => shortestExecNs(model) > longestNs);
  const [first] = slow;
  if (first === undefined) return null;
  const all = slow.length === models.length ? 'all' : `${slow.length} of`;
  const which = models.length === 1 ? first.name : `${all} ${models.length} models`;
  const example = `${first.name} takes ${formatDuration(Number(shortestExecNs(first).toPrecision(3)))}`;
  return `slo: ${formatDuration(longestNs)} is shorter than an INFER of ${which}, so none of their requests can be in time; ${example}`;
}
