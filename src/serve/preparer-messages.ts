import type { ModelList } from '../live/model-list.js';
import type { Precision } from '../live/models/precision.js';
import type { RuntimeProblem } from '../live/ort/runtime-problem.js';
import type { PreparedModel, PrepareOptions } from './prepare-model.js';

/** Requests to the preparing thread. Null ends it, and any work in progress. */
export type PreparerTask =
  /** Lists a repository, or one model of it and its files. */
  | (Repository & { readonly kind: 'list'; readonly name: string | null })
  | (Repository & { readonly kind: 'prepare'; readonly name: string; readonly version: string });

export interface Repository {
  readonly dir: string;
  readonly precision: Precision;
  readonly options: PrepareOptions;
}

/** Replies. A task is over with `done` or `failed`. */
export type PreparerReply =
  | { readonly kind: 'say'; readonly what: string }
  | { readonly kind: 'done'; readonly result: PlainList | PreparedModel }
  | { readonly kind: 'failed'; readonly problem: RuntimeProblem };

/** A list in the form that crosses threads. */
export type PlainList = Omit<ModelList, 'problems'> & {
  readonly problems: readonly {
    readonly name: string;
    readonly version: string | null;
    readonly error: RuntimeProblem;
  }[];
};
