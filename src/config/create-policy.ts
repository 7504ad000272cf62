import { EscapementError } from '../base/errors.js';
import type { Padding } from '../core/lengths.js';
import type { Policy, PolicyContext } from '../core/policy.js';
import type { PolicyEntry } from '../policies/entry.js';
import { POLICIES } from '../policies/registry.js';
import { guarded } from './guarded-policy.js';
import type { PolicyChoice } from './schema-policy.js';

/** The entry of a policy that is built in or comes with its plugin; undefined: there is none of that kind. */
export function entryOf({ kind, plugin }: PolicyChoice): PolicyEntry | undefined {
  return (plugin?.policies ?? POLICIES).find((entry) => entry.kind === kind);
}

/** What to know of a policy on GPUs of several kinds, for people; null: nothing, or there is one kind. */
export function noteOnKinds(choice: PolicyChoice, kinds: number): string | null {
  const { onKinds } = entryOf(choice) ?? {};
  return kinds < 2 || onKinds === undefined ? null : `${choice.kind} on several kinds of GPUs: ${onKinds}`;
}

/** Why requests within the shares of their tenants do not go first; null: they do, or there are no two tenants. */
export function whySharesAreNotFirst(
  policy: PolicyChoice,
  tenants: number,
  padding: Padding,
): 'policy' | 'lengths' | null {
  if (tenants < 2) return null;
  if (entryOf(policy)?.sharesFirst !== true) return 'policy';
  return padding === 'bucket' ? 'lengths' : null;
}

/** The policy that an experiment names, ready for a controller. Throws `E_CONFIG_VALUE` if there is none. */
export function createPolicyOf(choice: PolicyChoice): (context: PolicyContext) => Policy {
  const { kind, options, plugin } = choice;
  const entry = entryOf(choice);
  if (entry === undefined) {
    const known = POLICIES.map((policy) => policy.kind).join(', ');
    throw new EscapementError('E_CONFIG_VALUE', `no policy is called ${kind}; there are ${known}`, {
      key: 'policy.kind',
    });
  }
  if (plugin === undefined) return (context) => entry.create(context, options);
  return (context) => guarded(() => entry.create(context, options), { kind, file: plugin.file });
}
