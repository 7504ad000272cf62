export { type DeviceNoise, NO_NOISE, SimDevice } from './device.js';
export { EventQueue } from './event-queue.js';
export { Network, type NetworkOptions, NO_DELAY } from './network.js';
export { Simulator } from './simulator.js';
export type { ConditionsChange, SimulatorOptions } from './simulator-options.js';
export { type DurationSpread, type ModelSpread, quantile } from './spread.js';
export { trueModels } from './true-models.js';
