import type { EscapementError } from '../base/errors.js';

/** A version of a model that a worker could run. */
export interface OfferedVersion {
  readonly name: string;
  readonly version: string;
  /** Of its files and settings; empty: not looked at, or there are none. */
  readonly digest: string;
  /** It has a profile: it can be had without being measured first. Only known where files were looked at. */
  readonly isMeasured: boolean;
  /** The settings do not choose it: it takes the place of a higher version that cannot be read, where nothing else is served. */
  readonly standsIn?: boolean;
}

/** Why a model, or a version of it, cannot be served. */
export interface ModelProblem {
  readonly name: string;
  /** Null: no version of it can. */
  readonly version: string | null;
  readonly error: EscapementError;
}

/** What there is to run. */
export interface ModelList {
  /** Those that the models' settings choose, and those that stand in: by name, then by version, ascending. */
  readonly versions: readonly OfferedVersion[];
  readonly problems: readonly ModelProblem[];
  /** Files and folders that are no models. */
  readonly skipped: readonly string[];
  /** Settings without effect, a line per model. */
  readonly notes: readonly string[];
}

/** The same from one worker. */
export interface WorkerModelList extends ModelList {
  readonly worker: string;
}

export const NO_MODELS: ModelList = { versions: [], problems: [], skipped: [], notes: [] };
