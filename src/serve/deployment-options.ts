import type { PreparedModel } from './prepare-model.js';

/** Who decides which models are loaded. */
export const MODEL_CONTROLS = ['all', 'none', 'explicit', 'poll'] as const;

export interface DeploymentOptions {
  /** The repository. */
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

/** What runs models: they come and go while it does. */
export interface ModelHost {
  /** Resolves with the model's index when every worker has it. */
  addModel(model: PreparedModel): Promise<number>;
  /** Resolves when its requests are answered and no GPU or worker holds it any more. */
  retireModel(index: number): Promise<void>;
}

/** What a deployment says, for the log. */
export interface DeploymentEvents {
  info(facts: object, what: string): void;
  warn(facts: object, what: string): void;
}
