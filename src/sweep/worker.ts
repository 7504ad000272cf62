// Entry of a pool thread: piscina calls the export of the given name once a task.
export { boundCell, runCell } from './run-cell.js';
