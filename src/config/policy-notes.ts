import { shortestExecNs } from '../core/model.js';
import { partsOf, type Tenant } from '../core/tenants.js';
import type { PolicyNote } from '../record/results.js';
import { shareText } from '../record/share-text.js';
import { entryOf } from './create-policy.js';
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
}

/** Note on a policy with GPUs of several kinds, for people; null if there is none, or only one kind. */
export function noteOnKinds(choice: PolicyChoice, kinds: number): string | null {
  const { onKinds } = entryOf(choice) ?? {};
  return kinds < 2 || onKinds === undefined ? null : `on several kinds of GPUs: ${onKinds}`;
}

/** Features of an experiment that its policy does not support, and what it does instead. */
export function policyNotes(asked: Asked): PolicyNote[] {
  const { policy, kinds, hasClasses, hasLengths, tenants } = asked;
  const { weights, sharesFirst = false, batchesByLength = false } = entryOf(policy) ?? {};
  const onKinds = noteOnKinds(policy, kinds);
  const notes: readonly (readonly [applies: boolean, kind: PolicyNote['kind'], text: string])[] = [
    [hasClasses && weights !== 'used', 'warning', 'weights are ignored; results are still reported by class'],
    [
      tenants > 1 && !sharesFirst,
      'warning',
      'requests within a share do not come first; those above one may be refused under overload',
    ],
    [hasLengths && !batchesByLength, 'note', 'inputs of any length share a batch'],
    [onKinds !== null, 'note', onKinds ?? ''],
  ];
  return notes.flatMap(([applies, kind, text]) => (applies ? { kind, policy: policy.kind, text } : []));
}

/** Notes on a whole experiment; those without a policy are true of any. */
export function experimentNotes(experiment: Experiment): PolicyNote[] {
  const { policy, cluster, classes, models, tenants, warnings } = experiment;
  const hasLengths = models.some(({ lengths }) => lengths !== undefined);
  const tooShort = sloNote(experiment);
  return [
    ...policyNotes({
      ...{ policy, kinds: cluster.kinds.length, hasClasses: classes.length > 0, hasLengths },
      tenants: tenants.list.length,
    }),
    ...warnings.map((text) => ({ kind: 'warning' as const, text })),
    ...(tooShort === null ? [] : [{ kind: 'note' as const, text: tooShort }]),
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

/** More would fill the terminal. */
const MOST_NAMED = 12;

/**
 * `tenants: others 50 %, big 25 %, small 25 % of what GPUs can do under overload`; null without at least two shares.
 */
export function sharesLine(tenants: readonly Pick<Tenant, 'name' | 'share'>[]): string | null {
  if (tenants.length < 2) return null;
  const parts = partsOf(tenants);
  const named = tenants.slice(0, MOST_NAMED).map(({ name }, i) => `${name} ${shareText(parts[i]!)}`);
  const rest = tenants.length - named.length;
  const more = rest === 0 ? '' : `, and ${rest} more`;
  return `tenants: ${named.join(', ')}${more} of what GPUs can do under overload`;
}
