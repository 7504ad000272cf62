import { type ErrorPlace, EscapementError } from '../base/errors.js';
import type { Padding } from '../core/lengths.js';
import { type Policy, type PolicyContext, REFUSE } from '../core/policy.js';
import type { PolicyEntry } from '../policies/entry.js';
import { POLICIES } from '../policies/registry.js';
import { reasonOf } from './experiment-host.js';
import { refuse } from './fields.js';
import type { PolicyChoice } from './schema-policy.js';

/** Entry of a policy, built in or from its plugin; undefined if there is none of that kind. */
export function entryOf({ kind, plugin }: PolicyChoice): PolicyEntry | undefined {
  return (plugin?.policies ?? POLICIES).find((entry) => entry.kind === kind);
}

/** Factory of an experiment's policy, for a controller. Throws `E_CONFIG_VALUE` if there is no such policy. */
export function createPolicyOf(choice: PolicyChoice): (context: PolicyContext) => Policy {
  const { kind, options, plugin } = choice;
  const entry = entryOf(choice);
  if (entry === undefined) {
    const known = POLICIES.map((policy) => policy.kind).join(', ');
    refuse(`no policy is called ${kind}; there are ${known}`, {
      key: 'policy.kind',
    });
  }
  if (plugin === undefined) return (context) => entry.create(context, options);
  return (context) => guarded(() => entry.create(context, options), { kind, file: plugin.file });
}

/** Policy that a journal was written with. */
interface JournaledPolicy {
  readonly kind: string;
  readonly options: object;
  readonly plugin?: { readonly file: string };
}

/** Creates the policy that the journal `file` names. Throws `E_PLUGIN` if it came from a plugin. */
export function journaledPolicy(file: string) {
  return ({ policy }: { readonly policy: JournaledPolicy }, context: PolicyContext): Policy => {
    const { kind, options, plugin } = policy;
    if (plugin === undefined)
      return createPolicyOf({ kind, options: options as PolicyChoice['options'] })(context);
    const what = `was scheduled by the plugin ${plugin.file}, without which it cannot be replayed`;
    throw new EscapementError('E_PLUGIN', what, { file });
  };
}

/**
 * Padding of inputs of different lengths that share a batch. By default, batches are by length if the policy supports
 * it. Throws `E_CONFIG_VALUE` for `bucket` if it does not.
 */
export function paddingOf(
  { policy, padding }: { readonly policy: PolicyChoice; readonly padding?: Padding },
  place: ErrorPlace,
): Padding {
  const knowsLengths = entryOf(policy)?.batchesByLength === true;
  if (padding === 'bucket' && !knowsLengths)
    refuse(`${policy.kind} does not batch by length: choose batch or longest, or leave out padding`, place);
  return padding ?? (knowsLengths ? 'bucket' : 'batch');
}

const METHODS = [
  ...(['admit', 'timedOut', 'finished', 'weightsLost', 'weightsFound', 'lanesChanged', 'schedule'] as const),
  ...(['nextWakeNs', 'queued'] as const),
];
const OPTIONAL = [
  ...(['offered', 'modelCame', 'modelRetires', 'modelGoes', 'queuedBefore', 'quietUntilNs'] as const),
];

/** Checks of results, which state what a method should have returned; null if valid. The last argument is the time. */
const RESULTS: Readonly<Record<string, (result: number, nowNs: number) => string | null>> = {
  admit: (dueNs) => (dueNs === REFUSE || dueNs >= 0 ? null : 'a time in ns or REFUSE'),
  nextWakeNs: (wakeNs, nowNs) => (wakeNs > nowNs ? null : `a time after now, ${nowNs} ns`),
};

/**
 * A plugin's policy whose failures end the run as `E_PLUGIN` with its name: exceptions, violated rules of the
 * scheduler, and times with which a run would never end. Built-in policies run without this.
 */
function guarded(
  create: () => Policy,
  { kind, file }: { readonly kind: string; readonly file: string },
): Policy {
  const failure = (method: string, what: string) =>
    new EscapementError('E_PLUGIN', `${method} of policy ${kind} ${what}`, { file });
  const attempt = <T>(method: string, call: () => T): T => {
    try {
      return call();
    } catch (error) {
      throw failure(method, `failed: ${reasonOf(error, file)}`);
    }
  };
  const policy = attempt('create', create);
  const missing = METHODS.find((method) => typeof policy?.[method] !== 'function');
  if (missing !== undefined) throw failure('create', `returned no policy with a method ${missing}`);
  const methods = [...METHODS, ...OPTIONAL].flatMap((method) => {
    const own = policy[method] as ((...given: unknown[]) => unknown) | undefined;
    if (own === undefined) return [];
    const checked = (...given: unknown[]) => {
      const result = attempt(method, () => own.apply(policy, given));
      const expected = RESULTS[method]?.(result as number, given.at(-1) as number) ?? null;
      if (expected === null) return result;
      throw failure(method, `returned ${result} instead of ${expected}`);
    };
    return [[method, checked]];
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
