import { EscapementError } from '../base/errors.js';
import { type Policy, REFUSE } from '../core/policy.js';
import { reasonOf } from './module-error.js';

/** Which policy of which plugin. */
interface PolicyName {
  readonly kind: string;
  readonly file: string;
}

/**
 * A policy of a plugin, whose failures end the run as `E_PLUGIN` with its name: what it throws, rules of the scheduler
 * that it breaks, and times with which a run would never end. Built-in policies run without this.
 */
export function guarded(create: () => Policy, name: PolicyName): Policy {
  let policy: Policy;
  try {
    policy = create();
  } catch (error) {
    throw thrown(name, 'create', error);
  }
  const missing = METHODS.find((method) => typeof policy?.[method] !== 'function');
  if (missing !== undefined) throw failure(name, 'create', `returned no policy with a method ${missing}`);
  const methods = [...METHODS, ...OPTIONAL].flatMap((method) => {
    const own = policy[method];
    return own === undefined ? [] : [[method, guardedMethod(policy, method, own, name)]];
  });
  return {
    name: policy.name,
    takesBack: policy.takesBack === true,
    get tuned() {
      return policy.tuned ?? {};
    },
    ...Object.fromEntries(methods),
  };
}

const METHODS = [
  ...(['admit', 'timedOut', 'finished', 'weightsLost', 'weightsFound', 'lanesChanged', 'schedule'] as const),
  ...(['nextWakeNs', 'queued'] as const),
];
const OPTIONAL = ['offered', 'modelCame', 'modelRetires', 'modelGoes', 'queuedBefore'] as const;

type Method = (typeof METHODS)[number] | (typeof OPTIONAL)[number];

/** The method called as its policy's own; its last argument is the time, where it has two. */
function guardedMethod(policy: Policy, method: Method, own: unknown, name: PolicyName) {
  const call = own as (this: Policy, ...given: unknown[]) => unknown;
  const wrong = RESULTS[method];
  return (...given: unknown[]) => {
    let result: unknown;
    try {
      result = call.apply(policy, given);
    } catch (error) {
      throw thrown(name, method, error);
    }
    const expected = wrong?.(result as number, given.at(-1) as number) ?? null;
    if (expected === null) return result;
    throw failure(name, method, `returned ${result} instead of ${expected}`);
  };
}

/** What a method should have returned; null: it has. */
const RESULTS: { readonly [M in Method]?: (result: number, nowNs: number) => string | null } = {
  admit: (dueNs) => (dueNs === REFUSE || dueNs >= 0 ? null : 'a time in ns or REFUSE'),
  nextWakeNs: (wakeNs, nowNs) => (wakeNs > nowNs ? null : `a time after now, ${nowNs} ns`),
};

function thrown(name: PolicyName, method: string, error: unknown): EscapementError {
  return failure(name, method, `failed: ${reasonOf(error, name.file)}`);
}

function failure({ kind, file }: PolicyName, method: string, what: string): EscapementError {
  return new EscapementError('E_PLUGIN', `${method} of policy ${kind} ${what}`, { file });
}
