export type { CutOff } from './frontend.js';
