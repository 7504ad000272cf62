import { EscapementError } from '../base/errors.js';
import { type Policy, REFUSE } from '../core/policy.js';
import { reasonOf } from './plugins.js';

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
  if (missing === undefined) return new GuardedPolicy(policy, name);
  throw failure(name, 'create', `returned no policy with a method ${missing}`);
}

const METHODS = [
  'admit',
  'timedOut',
  'finished',
  'weightsLost',
  'weightsFound',
  'lanesChanged',
  'schedule',
  'nextWakeNs',
  'queued',
] as const;

class GuardedPolicy implements Policy {
  readonly name: string;
  readonly takesBack: boolean;
  readonly timedOut: Policy['timedOut'];
  readonly finished: Policy['finished'];
  readonly weightsLost: Policy['weightsLost'];
  readonly weightsFound: Policy['weightsFound'];
  readonly lanesChanged: Policy['lanesChanged'];
  readonly schedule: Policy['schedule'];
  readonly queued: Policy['queued'];
  readonly modelCame?: (model: number, nowNs: number) => void;
  readonly modelRetires?: (model: number, nowNs: number) => void;
  readonly modelGoes?: (model: number, nowNs: number) => void;
  readonly queuedBefore?: (slot: number) => number;
  private readonly admitted: Policy['admit'];
  private readonly wakes: Policy['nextWakeNs'];

  constructor(
    private readonly policy: Policy,
    private readonly which: PolicyName,
  ) {
    this.name = policy.name;
    this.takesBack = policy.takesBack === true;
    this.timedOut = this.wrapped('timedOut', policy.timedOut);
    this.finished = this.wrapped('finished', policy.finished);
    this.weightsLost = this.wrapped('weightsLost', policy.weightsLost);
    this.weightsFound = this.wrapped('weightsFound', policy.weightsFound);
    this.lanesChanged = this.wrapped('lanesChanged', policy.lanesChanged);
    this.schedule = this.wrapped('schedule', policy.schedule);
    this.queued = this.wrapped('queued', policy.queued);
    this.admitted = this.wrapped('admit', policy.admit);
    this.wakes = this.wrapped('nextWakeNs', policy.nextWakeNs);
    const { modelCame, modelRetires, modelGoes, queuedBefore } = policy;
    if (modelCame !== undefined) this.modelCame = this.wrapped('modelCame', modelCame);
    if (modelRetires !== undefined) this.modelRetires = this.wrapped('modelRetires', modelRetires);
    if (modelGoes !== undefined) this.modelGoes = this.wrapped('modelGoes', modelGoes);
    if (queuedBefore !== undefined) this.queuedBefore = this.wrapped('queuedBefore', queuedBefore);
  }

  get tuned(): Readonly<Record<string, number>> {
    return this.policy.tuned ?? {};
  }

  admit(slot: number, nowNs: number): number {
    const dueNs = this.admitted(slot, nowNs);
    if (dueNs === REFUSE || dueNs >= 0) return dueNs;
    throw failure(this.which, 'admit', `returned ${dueNs} instead of a time in ns or REFUSE`);
  }

  nextWakeNs(nowNs: number): number {
    const wakeNs = this.wakes(nowNs);
    if (wakeNs > nowNs) return wakeNs;
    throw failure(this.which, 'nextWakeNs', `returned ${wakeNs} instead of a time after now, ${nowNs} ns`);
  }

  /** The same method of the policy. None has more than three arguments; a list of them would make each call dear. */
  private wrapped<M>(name: string, method: M): M {
    const { policy, which } = this;
    const plain = method as (a: unknown, b: unknown, c: unknown) => unknown;
    return ((a: unknown, b: unknown, c: unknown) => {
      try {
        return plain.call(policy, a, b, c);
      } catch (error) {
        throw thrown(which, name, error);
      }
    }) as M;
  }
}

function thrown(name: PolicyName, method: string, error: unknown): EscapementError {
  return failure(name, method, `failed: ${reasonOf(error, name.file)}`);
}

function failure({ kind, file }: PolicyName, method: string, what: string): EscapementError {
  return new EscapementError('E_PLUGIN', `${method} of policy ${kind} ${what}`, { file });
}
