// Entry of a pool thread: piscina calls the default export once a task.
export { runCell as default } from './run-cell.js';
