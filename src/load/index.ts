/// <reference types="node" preserve="true" />
export { openTarget } from './open-target.js';
export { type PlayOptions, play } from './player.js';
export { openServiceTarget } from './service-target.js';
export type { LoadRequest, LoadTarget, TargetOptions } from './target.js';
