import type { ModelList } from '../live/model-list.js';
import type { Precision } from '../live/models/precision.js';
import type { RuntimeProblem } from '../live/ort/runtime-problem.js';
import type { PreparedModel, PrepareOptions } from './prepare-model.js';

/** What the preparing thread is asked for. Null ends it, and what it has under way. */
export type PreparerTask =
  /** Looks at a repository, or at one model of it and its files. */
  | (Repository & { readonly kind: 'list'; readonly name: string | null })
  | (Repository & { readonly kind: 'prepare'; readonly name: string; readonly version: string });

export interface Repository {
  readonly dir: string;
  readonly precision: Precision;
  readonly options: PrepareOptions;
}

/** What it says. The task is over with `done` or `failed`. */
export type PreparerReply =
  | { readonly kind: 'say'; readonly what: string }
  | { readonly kind: 'done'; readonly result: PlainList | PreparedModel }
  | { readonly kind: 'failed'; readonly problem: RuntimeProblem };

/** A list as it crosses threads. */
export type PlainList = Omit<ModelList, 'problems'> & {
  readonly problems: readonly {
    readonly name: string;
    readonly version: string | null;
    readonly error: RuntimeProblem;
  }[];
};
