// Entry of a pool thread: piscina calls the member of the given name once per task. CommonJS because piscina tries
// require() first, and Node 20 aborts the whole process when a thread is ended while it requires an ES module
// ("IsGraphAsync must be used on an instantiated module"); while it imports one, it can be ended.
import type { CellOutcome, CellTask } from './run-cell.js' with { 'resolution-mode': 'import' };

export = {
  runCell: async (task: CellTask): Promise<CellOutcome> => (await import('./cell-jobs.js')).runCell(task),
  boundCell: async (task: CellTask): Promise<CellOutcome> => (await import('./cell-jobs.js')).boundCell(task),
};
