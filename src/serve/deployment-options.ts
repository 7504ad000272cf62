import { NS_PER_S } from '../base/units.js';
import type { ServedModel } from '../live/model.js';
import type { ModelList, ModelReference } from '../live/model-list.js';
import type { ServedPipeline } from '../live/pipeline.js';

/** Modes that determine which models are loaded. */
export const MODEL_CONTROLS = ['all', 'none', 'explicit', 'poll'] as const;

/** Efforts of measuring a model: the fewest runs, a moment, or until figures are stable. */
export const MEASURES = ['none', 'quick', 'full'] as const;
export type Measure = (typeof MEASURES)[number];

export interface DeploymentOptions {
  /** Repositories of this process, which paths are relative to. */
  readonly dirs: readonly string[];
  /**
   * `all`, `none`: every model at the start; `explicit`: those of `names`; `poll`: the current contents of the
   * repository.
   */
  readonly control: (typeof MODEL_CONTROLS)[number];
  /** Models loaded at the start with `control: explicit`; `*`: all. */
  readonly names: readonly string[];
  /** Interval between looks at the repository. */
  readonly pollNs: number;
  /** Time without requests after which a model's memory is freed until the next one; null: never. */
  readonly idleNs: number | null;
  /** True if the first problem ends the start. */
  readonly isStrict: boolean;
}

/** Every model, and clients may load and unload. */
export const ALL_MODELS: DeploymentOptions = {
  dirs: [],
  control: 'all',
  names: [],
  pollNs: 15 * NS_PER_S,
  idleNs: null,
  isStrict: false,
};

export type StartNeeds = 'model' | 'repository' | 'nothing';

/** Conditions for a server to start; with `poll` the repository itself may appear later. */
export function startNeeds({ control, isStrict }: DeploymentOptions): StartNeeds {
  if (control === 'poll' && !isStrict) return 'nothing';
  return control === 'explicit' || control === 'poll' ? 'repository' : 'model';
}

/** Host of models, which come and go while it runs. */
export interface ModelHost {
  /** Names of absent workers, for people. */
  readonly away: readonly string[];
  /** True if further, unknown workers may come. */
  readonly isOpen: boolean;
  /** Resolves when a worker is up: calls rejected with `NoWorker` can be retried. */
  untilUp(): Promise<void>;
  /** Asks for workers that another controller leaves to this one. */
  takeOver(): void;
  /** Models that its workers could run, or one of them. Rejects if unknown. */
  list(name: string | null, config?: string): Promise<ModelList>;
  /** Resolves with the model and its index once every worker with a model of that name has it. Rejects with a coded error. */
  addModel(reference: ModelReference): Promise<{ readonly index: number; readonly model: ServedModel }>;
  /** Has these workers prepare the model if they did not have it before. */
  spread(index: number, workers: readonly string[]): Promise<void>;
  /** Serves a pipeline of models that it has, in place of the `index`th. Returns the index for its requests. */
  putPipeline(index: number, pipeline: ServedPipeline): number;
  /** Resolves when its requests are answered and no GPU or worker holds it any more. */
  retireModel(index: number): Promise<void>;
}

/** Events of a deployment, for the log. */
export interface DeploymentEvents {
  info(facts: object, what: string): void;
  warn(facts: object, what: string): void;
}
