import { EscapementError } from '../base/errors.js';
import type { Action } from '../core/action.js';
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
  readonly offered?: (slot: number, nowNs: number) => void;
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
    const { offered, modelCame, modelRetires, modelGoes, queuedBefore } = policy;
    if (offered !== undefined)
      this.offered = (slot, nowNs) => this.guard('offered', () => offered.call(policy, slot, nowNs));
    if (modelCame !== undefined)
      this.modelCame = (model, nowNs) => this.guard('modelCame', () => modelCame.call(policy, model, nowNs));
    if (modelRetires !== undefined)
      this.modelRetires = (model, nowNs) =>
        this.guard('modelRetires', () => modelRetires.call(policy, model, nowNs));
    if (modelGoes !== undefined)
      this.modelGoes = (model, nowNs) => this.guard('modelGoes', () => modelGoes.call(policy, model, nowNs));
    if (queuedBefore !== undefined)
      this.queuedBefore = (slot) => this.guard('queuedBefore', () => queuedBefore.call(policy, slot));
  }

  get tuned(): Readonly<Record<string, number>> {
    return this.policy.tuned ?? {};
  }

  admit(slot: number, nowNs: number): number {
    const dueNs = this.guard('admit', () => this.policy.admit(slot, nowNs));
    if (dueNs === REFUSE || dueNs >= 0) return dueNs;
    throw failure(this.which, 'admit', `returned ${dueNs} instead of a time in ns or REFUSE`);
  }

  timedOut(slot: number, nowNs: number): void {
    this.guard('timedOut', () => this.policy.timedOut(slot, nowNs));
  }

  finished(action: Action, nowNs: number): void {
    this.guard('finished', () => this.policy.finished(action, nowNs));
  }

  weightsLost(gpu: number, model: number, nowNs: number): void {
    this.guard('weightsLost', () => this.policy.weightsLost(gpu, model, nowNs));
  }

  weightsFound(gpu: number, model: number, nowNs: number): void {
    this.guard('weightsFound', () => this.policy.weightsFound(gpu, model, nowNs));
  }

  lanesChanged(gpu: number, nowNs: number): void {
    this.guard('lanesChanged', () => this.policy.lanesChanged(gpu, nowNs));
  }

  schedule(nowNs: number): void {
    this.guard('schedule', () => this.policy.schedule(nowNs));
  }

  nextWakeNs(nowNs: number): number {
    const wakeNs = this.guard('nextWakeNs', () => this.policy.nextWakeNs(nowNs));
    if (wakeNs > nowNs) return wakeNs;
    throw failure(this.which, 'nextWakeNs', `returned ${wakeNs} instead of a time after now, ${nowNs} ns`);
  }

  queued(model: number): number {
    return this.guard('queued', () => this.policy.queued(model));
  }

  private guard<Result>(method: string, call: () => Result): Result {
    try {
      return call();
    } catch (error) {
      throw thrown(this.which, method, error);
    }
  }
}

function thrown(name: PolicyName, method: string, error: unknown): EscapementError {
  return failure(name, method, `failed: ${reasonOf(error, name.file)}`);
}

function failure({ kind, file }: PolicyName, method: string, what: string): EscapementError {
  return new EscapementError('E_PLUGIN', `${method} of policy ${kind} ${what}`, { file });
}
