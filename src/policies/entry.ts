import type { Policy, PolicyContext } from '../core/policy.js';

/** Value of an option that tunes itself at run time. */
export const AUTO = 'auto';

/** Values of a policy's options by name; durations in ns. */
export type PolicyOptions = Readonly<Record<string, number | typeof AUTO | undefined>>;

/** One option of a policy: enough to check, document and vary it. */
export interface PolicyOption {
  readonly type: 'duration' | 'integer' | 'number';
  /** In ns for durations. Absent: derived as the description says. */
  readonly default?: number | typeof AUTO;
  readonly min: number;
  /** Largest value, for numbers and integers. Absent: unlimited. */
  readonly max?: number;
  /** Meaning of the value `auto`; absent: not allowed. */
  readonly auto?: string;
  readonly describe: string;
}

/** A policy as users see it. */
export interface PolicyEntry {
  readonly kind: string;
  readonly summary: string;
  /** Treatment of class weights. Absent: ignored, all requests are alike. */
  readonly weights?: 'used' | 'ignored';
  /** True if it serves requests within their tenants' shares first. */
  readonly sharesFirst?: boolean;
  readonly options: Readonly<Record<string, PolicyOption>>;
  /** Extension for GPUs of several kinds, if the published rule does not cover them; absent: it does. */
  readonly onKinds?: string;
  /** True if it reads `requests.bucket` and batches inputs of similar lengths; other policies never see lengths. */
  readonly batchesByLength?: boolean;
  /** Reason, for people, why it would serve nothing with these options; null or absent: it would serve. */
  whyServesNothing?(options: PolicyOptions): string | null;
  /** `options` holds a value for each option that has a default or was given. */
  create(context: PolicyContext, options: PolicyOptions): Policy;
}

/** Policies from outside the package. */
export interface Plugin {
  /** Name of the module; `library` if its policies were passed to a function. */
  readonly file: string;
  /** SHA-256 of the module, 16 hex digits; excludes its imports. */
  readonly digest: string;
  readonly policies: readonly PolicyEntry[];
}
