import type { EscapementError } from '../base/errors.js';
import type { TensorSignature, WorkerModel } from './model.js';

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
  /** True if that profile was measured only briefly. */
  readonly isProvisional?: boolean;
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

/** An input or output that an ensemble declares, with the dimension of the batch if it has one. */
export type DeclaredTensor = Omit<TensorSignature, 'bytes'>;

/** A graph of models from a repository, as it was written. */
export interface Ensemble {
  readonly name: string;
  /** SLO of its requests, ns; null: the server's. */
  readonly sloNs: number | null;
  readonly steps: readonly EnsembleStep[];
  readonly inputs: readonly DeclaredTensor[];
  readonly outputs: readonly DeclaredTensor[];
  /** Limit on rows of a request; 0: its first dimension is no batch. */
  readonly maxBatch: number;
}

/** Inputs and outputs of its model are keys; values are tensors of the ensemble. */
export interface EnsembleStep {
  readonly model: string;
  /** Null: the one that is served by default. */
  readonly version: string | null;
  readonly inputs: Readonly<Record<string, string>>;
  readonly outputs: Readonly<Record<string, string>>;
}

/** Available models. */
export interface ModelList {
  /** Versions that the models' settings choose, and stand-ins: by name, then by version, ascending. */
  readonly versions: readonly OfferedVersion[];
  readonly problems: readonly ModelProblem[];
  readonly ensembles: readonly Ensemble[];
  /** Files and folders that are not models. */
  readonly skipped: readonly string[];
  /** Settings without effect, a line per model. */
  readonly notes: readonly string[];
}

/** Models of one worker. */
export interface WorkerModelList extends ModelList {
  readonly worker: string;
}

/** Source of models that a controller requests from a running worker. */
export interface ModelSource {
  /** Available models, or one of them with digests of its files and settings. Rejects if unknown. */
  list(name: string | null, config?: string): Promise<ModelList>;
  /**
   * Opens the version, ready to run; null: there is no model of that name. Rejects with the reason, for people: the version
   * is missing, or its files differ.
   */
  open(reference: ModelReference): Promise<WorkerModel | null>;
  /** Resolves when no call is in progress. */
  close(): Promise<void>;
}

export const NO_MODELS: ModelList = { versions: [], problems: [], ensembles: [], skipped: [], notes: [] };
