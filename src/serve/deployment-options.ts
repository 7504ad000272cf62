import { NS_PER_S } from '../base/units.js';
import type { ModelReference } from '../live/messages.js';
import type { ServedModel } from '../live/model.js';
import type { ModelList } from '../live/model-list.js';

/** Who decides which models are loaded. */
export const MODEL_CONTROLS = ['all', 'none', 'explicit', 'poll'] as const;

export interface DeploymentOptions {
  /** The repository of this process: paths in it are given from there. Empty: it has none. */
  readonly dir: string;
  /** `all`, `none`: every model at the start; `explicit`: those of `names`; `poll`: what the repository holds. */
  readonly control: (typeof MODEL_CONTROLS)[number];
  /** Models that are loaded at the start although `control` is explicit; `*`: all. */
  readonly names: readonly string[];
  /** Between two looks at the repository. */
  readonly pollNs: number;
  /** A model without requests for this long gives its memory back until the next one; null: never. */
  readonly idleNs: number | null;
  /** The first problem ends the start. */
  readonly isStrict: boolean;
}

/** Every model, and clients may load and unload. */
export const ALL_MODELS: DeploymentOptions = {
  dir: '',
  control: 'all',
  names: [],
  pollNs: 15 * NS_PER_S,
  idleNs: null,
  isStrict: false,
};

export type StartNeeds = 'model' | 'repository' | 'nothing';

/** What has to be there for a server to start; with `poll` the repository itself may come later. */
export function startNeeds({ control, isStrict }: DeploymentOptions): StartNeeds {
  if (control === 'poll' && !isStrict) return 'nothing';
  return control === 'explicit' || control === 'poll' ? 'repository' : 'model';
}

/** What has and runs models: they come and go while it does. */
export interface ModelHost {
  /** Workers that are not there now; for people. */
  readonly away: readonly string[];
  /** Others may come that nothing is known of. */
  readonly isOpen: boolean;
  /** Resolves when a worker is up: what was rejected with `NoWorker` can be tried again. */
  untilUp(): Promise<void>;
  /** What its workers could run, at all or of one model. Rejects where that cannot be said. */
  list(name: string | null): Promise<ModelList>;
  /** Resolves with the model and its index when every worker has it. Rejects with a coded error. */
  addModel(reference: ModelReference): Promise<{ readonly index: number; readonly model: ServedModel }>;
  /** Resolves when its requests are answered and no GPU or worker holds it any more. */
  retireModel(index: number): Promise<void>;
}

/** What a deployment says, for the log. */
export interface DeploymentEvents {
  info(facts: object, what: string): void;
  warn(facts: object, what: string): void;
}
