import type { EscapementError } from '../base/errors.js';

/** Identification of a model version, common to all workers. */
export interface ModelReference {
  readonly name: string;
  readonly version: string;
  /** Digest of its files and settings; empty: any. */
  readonly digest: string;
  /** Settings in place of those of its `config.pbtxt`, as JSON. */
  readonly config?: string | undefined;
}

/** A version of a model that a worker could run. */
export interface OfferedVersion {
  readonly name: string;
  readonly version: string;
  /** Digest of its files and settings; empty: not read, or none. */
  readonly digest: string;
  /** True if it has a profile, so that it need not be measured first. Known only if files were read. */
  readonly isMeasured: boolean;
  /** True if the settings do not choose it: it replaces an unreadable higher version when nothing else is served. */
  readonly standsIn?: boolean;
  /** Workers that have it; absent: that of the list. */
  readonly workers?: readonly string[];
}

/** Reason why a model, or a version of it, cannot be served. */
export interface ModelProblem {
  readonly name: string;
  /** Null: the problem affects all versions. */
  readonly version: string | null;
  readonly error: EscapementError;
}

/** Available models. */
export interface ModelList {
  /** Versions that the models' settings choose, and stand-ins: by name, then by version, ascending. */
  readonly versions: readonly OfferedVersion[];
  readonly problems: readonly ModelProblem[];
  /** Files and folders that are not models. */
  readonly skipped: readonly string[];
  /** Settings without effect, a line per model. */
  readonly notes: readonly string[];
}

/** Models of one worker. */
export interface WorkerModelList extends ModelList {
  readonly worker: string;
}

export const NO_MODELS: ModelList = { versions: [], problems: [], skipped: [], notes: [] };
