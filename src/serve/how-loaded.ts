import type { DeploymentOptions } from './deployment-options.js';

/** How a model that is not loaded comes to be, for clients. */
export const HOW_LOADED: Readonly<Record<DeploymentOptions['control'], string>> = {
  all: 'load it through the model repository',
  explicit: 'load it through the model repository',
  none: 'the server loads models when it starts',
  poll: 'the server loads it once its files are there and right',
};
