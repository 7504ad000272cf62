import { copyFileSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { tempDir } from '../../cli/run-cli.js';
import {
  comparableOutputs,
  executeInJupyter,
  ipython,
  NOTEBOOKS,
  notebookFiles,
  readCells,
  whatIsMissing,
} from '../../notebooks/notebook.js';
import { pythonWith } from '../../python.js';
import { RENEW, runPage } from '../run-page.js';

const dir = runPage('docs/how-to/use-pandas.md');

it.for(notebookFiles('python'))(
  '%s shows in Jupyter, for the folders of the page, what is committed',
  (name, { skip }) => {
    const missing = whatIsMissing('jupyter-nbconvert');
    skip(missing !== '', `${missing}: nothing executes the notebook`);
    const python = pythonWith('ipykernel', 'pandas', 'matplotlib');
    if (python === undefined)
      return skip('no Python with ipykernel, pandas and matplotlib (Debian: python3-ipykernel …)');
    const copy = join(dir, 'notebooks', name);
    mkdirSync(join(dir, 'notebooks'), { recursive: true });
    copyFileSync(join(NOTEBOOKS, name), copy);
    const inJupyter = executeInJupyter(copy, tempDir(), ipython(python));
    if (RENEW) copyFileSync(inJupyter, join(NOTEBOOKS, name));
    const executed = readCells(inJupyter);
    expect(executed.map(comparableOutputs)).toEqual(readCells(join(NOTEBOOKS, name)).map(comparableOutputs));
  },
);
