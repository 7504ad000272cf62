/** Functions that a thread of a sweep's pool runs. */
export { boundCell, runCell } from './run-cell.js';
