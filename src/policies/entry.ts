import type { Policy, PolicyContext } from '../core/policy.js';

/** The option tunes itself while the policy runs. */
export const AUTO = 'auto';

/** Values of a policy's options by name; durations in ns. */
export type PolicyOptions = Readonly<Record<string, number | typeof AUTO | undefined>>;

/** One option of a policy: enough to check it, to document it and to vary it. */
export interface PolicyOption {
  readonly type: 'duration' | 'integer' | 'number';
  /** In ns for durations. Absent: derived, as the description says. */
  readonly default?: number | typeof AUTO;
  readonly min: number;
  /** Largest value, for numbers and integers. Absent: there is no limit. */
  readonly max?: number;
  /** What the value `auto` means; absent: there is no such value. */
  readonly auto?: string;
  readonly describe: string;
}

/** A policy as users see it. */
export interface PolicyEntry {
  readonly kind: string;
  readonly summary: string;
  /** Whether it serves classes of requests by their weights. Absent: ignored, all are alike to it. */
  readonly weights?: 'used' | 'ignored';
  /** True: it serves requests within the shares of their tenants first, unless inputs are batched by length. Absent: it does not. */
  readonly sharesFirst?: boolean;
  readonly options: Readonly<Record<string, PolicyOption>>;
  /** What is done about GPUs of several kinds, of which the rule as published does not speak; absent: it covers them. */
  readonly onKinds?: string;
  /** True: it reads `requests.bucket` and batches inputs of near lengths; the others never hear of lengths. */
  readonly batchesByLength?: boolean;
  /** Why it would serve nothing with these options, for people; null, absent: it would serve. */
  whyServesNothing?(options: PolicyOptions): string | null;
  /** `options` holds a value for each option that has a default or was given. */
  create(context: PolicyContext, options: PolicyOptions): Policy;
}

/** Policies from outside the package. */
export interface Plugin {
  /** The module, as it was named; `library`: its policies were passed to a function. */
  readonly file: string;
  /** SHA-256 of the module, 16 hex digits: what it imports is not part of it. */
  readonly digest: string;
  readonly policies: readonly PolicyEntry[];
}
