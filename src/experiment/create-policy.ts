import { EscapementError } from '../core/errors.js';
import type { Policy, PolicyContext } from '../core/policy.js';
import { POLICIES } from '../policies/registry.js';
import type { Experiment } from './experiment.js';

/** The policy that an experiment names, ready for a controller. Throws `E_CONFIG_VALUE` if there is none. */
export function createPolicyOf({ kind, options }: Experiment['policy']): (context: PolicyContext) => Policy {
  const entry = POLICIES.find((policy) => policy.kind === kind);
  if (entry === undefined) {
    const known = POLICIES.map((policy) => policy.kind).join(', ');
    throw new EscapementError('E_CONFIG_VALUE', `no policy is called ${kind}; there are ${known}`, {
      key: 'policy.kind',
    });
  }
  return (context) => entry.create(context, options);
}
