import { join } from 'node:path';
import { expect, it } from 'vitest';
import { tempDir } from '../cli/run-cli.js';
import {
  comparableOutputs,
  DENO,
  executeInJupyter,
  NOTEBOOKS,
  notebookFiles,
  readCells,
  whatIsMissing,
} from './notebook.js';

const missing = whatIsMissing('jupyter-nbconvert', 'deno');

// On a busy machine the kernel at times says that a cell is done before it has sent what the cell shows; Jupyter
// stops listening then, and the output is lost.
const retry = 4;
it.for(notebookFiles('typescript'))(
  '%s shows in Jupyter with the Deno kernel what is committed',
  {
    retry,
  },
  (name, { skip }) => {
    skip(missing !== '', `${missing}: the cells run in Node only`);
    const path = join(NOTEBOOKS, name);
    const executed = readCells(executeInJupyter(path, tempDir(), DENO));
    expect(executed.map(comparableOutputs)).toEqual(readCells(path).map(comparableOutputs));
  },
);
