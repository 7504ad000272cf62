import { EscapementError } from '../base/errors.js';
import type { Action } from '../core/action.js';
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
  readonly modelCame?: (model: number, nowNs: number) => void;
  readonly modelRetires?: (model: number, nowNs: number) => void;
  readonly modelGoes?: (model: number, nowNs: number) => void;
  readonly queuedBefore?: (slot: number) => number;

  constructor(
    private readonly policy: Policy,
    private readonly which: PolicyName,
  ) {
    this.name = policy.name;
    this.takesBack = policy.takesBack === true;
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
    let dueNs: number;
    try {
      dueNs = this.policy.admit(slot, nowNs);
    } catch (error) {
      throw thrown(this.which, 'admit', error);
    }
    if (dueNs === REFUSE || dueNs >= 0) return dueNs;
    throw failure(this.which, 'admit', `returned ${dueNs} instead of a time in ns or REFUSE`);
  }

  timedOut(slot: number, nowNs: number): void {
    try {
      this.policy.timedOut(slot, nowNs);
    } catch (error) {
      throw thrown(this.which, 'timedOut', error);
    }
  }

  finished(action: Action, nowNs: number): void {
    try {
      this.policy.finished(action, nowNs);
    } catch (error) {
      throw thrown(this.which, 'finished', error);
    }
  }

  weightsLost(gpu: number, model: number, nowNs: number): void {
    try {
      this.policy.weightsLost(gpu, model, nowNs);
    } catch (error) {
      throw thrown(this.which, 'weightsLost', error);
    }
  }

  weightsFound(gpu: number, model: number, nowNs: number): void {
    try {
      this.policy.weightsFound(gpu, model, nowNs);
    } catch (error) {
      throw thrown(this.which, 'weightsFound', error);
    }
  }

  lanesChanged(gpu: number, nowNs: number): void {
    try {
      this.policy.lanesChanged(gpu, nowNs);
    } catch (error) {
      throw thrown(this.which, 'lanesChanged', error);
    }
  }

  schedule(nowNs: number): void {
    try {
      this.policy.schedule(nowNs);
    } catch (error) {
      throw thrown(this.which, 'schedule', error);
    }
  }

  nextWakeNs(nowNs: number): number {
    let wakeNs: number;
    try {
      wakeNs = this.policy.nextWakeNs(nowNs);
    } catch (error) {
      throw thrown(this.which, 'nextWakeNs', error);
    }
    if (wakeNs > nowNs) return wakeNs;
    throw failure(this.which, 'nextWakeNs', `returned ${wakeNs} instead of a time after now, ${nowNs} ns`);
  }

  queued(model: number): number {
    try {
      return this.policy.queued(model);
    } catch (error) {
      throw thrown(this.which, 'queued', error);
    }
  }

  /** The same method of the policy. */
  private wrapped<Arguments extends unknown[], Result>(
    name: string,
    method: (...given: Arguments) => Result,
  ): (...given: Arguments) => Result {
    return (...given) => {
      try {
        return method.apply(this.policy, given);
      } catch (error) {
        throw thrown(this.which, name, error);
      }
    };
  }
}

function thrown(name: PolicyName, method: string, error: unknown): EscapementError {
  return failure(name, method, `failed: ${reasonOf(error, name.file)}`);
}

function failure({ kind, file }: PolicyName, method: string, what: string): EscapementError {
  return new EscapementError('E_PLUGIN', `${method} of policy ${kind} ${what}`, { file });
}
