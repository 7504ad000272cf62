import type { ErrorCode, ErrorPlace } from '../base/errors.js';
import type { Precision } from '../live/models/precision.js';
import type { RepositoryScan } from '../live/models/scan.js';
import type { PreparedModel, PrepareOptions } from './prepare-model.js';

/** What the preparing thread is asked for. Null ends it. */
export type PreparerTask =
  /** Looks at a repository, or at one model of it. */
  | {
      readonly kind: 'scan';
      readonly dir: string;
      readonly name: string | null;
      readonly precision: Precision;
    }
  | {
      readonly kind: 'prepare';
      readonly onnxPath: string;
      readonly modelDir: string;
      readonly options: PrepareOptions;
    };

/** What it says. The task is over with `done` or `failed`. */
export type PreparerReply =
  | { readonly kind: 'say'; readonly what: string }
  | { readonly kind: 'done'; readonly result: PlainScan | PreparedModel | 'same' | 'unmeasured' }
  | { readonly kind: 'failed'; readonly problem: PlainProblem };

/** An error of an operator as it crosses threads. */
export interface PlainProblem {
  readonly code: ErrorCode;
  readonly what: string;
  readonly place: ErrorPlace;
}

/** A scan as it crosses threads. */
export type PlainScan = Omit<RepositoryScan, 'problems'> & {
  readonly problems: readonly {
    readonly name: string;
    readonly version: string | null;
    readonly error: PlainProblem;
  }[];
};
