import { join } from 'node:path';
import { writeWhole } from '../base/files/output-file.js';
import type { RunResult } from '../record/results.js';
import { dropReport } from '../report/files.js';
import { withStagedFolder } from './staged-folder.js';

/** All that `--out` of a run may hold in addition to its report. */
const RUN_FILES = [
  'summary.json',
  'run.json',
  'requests.tsv',
  'actions.tsv',
  'timeline.json',
  'recording.json',
];

/**
 * Lets `work` make a run whose logs go to the folder that it is given, adds the results and puts all of it to `out`,
 * in place of an earlier run. Without `out` nothing is written.
 */
export async function inRunFolder<T>(
  out: string | undefined,
  work: (outDir: string | undefined) => Promise<T>,
  resultOf: (finished: T) => RunResult,
): Promise<T> {
  if (out === undefined) return work(undefined);
  const finished = await withStagedFolder(out, RUN_FILES, async (stage) => {
    const made = await work(stage);
    const result = resultOf(made);
    writeWhole(join(stage, 'run.json'), `${JSON.stringify(result)}\n`);
    writeWhole(join(stage, 'summary.json'), `${JSON.stringify(result.summary, null, 2)}\n`);
    return made;
  });
  dropReport(out);
  return finished;
}
