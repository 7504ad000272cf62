// Entry of the thread that reads, optimises and measures models while others are served.
import '../live/ort/no-telemetry.js';
import { parentPort } from 'node:worker_threads';
import { type ErrorPlace, EscapementError } from '../base/errors.js';
import { invariant } from '../base/invariant.js';
import { scanNamed, scanRepository } from '../live/models/scan.js';
import { prepareModel } from './prepare-model.js';
import type { PlainProblem, PlainScan, PreparerReply, PreparerTask } from './preparer-messages.js';

const caller = parentPort;
invariant(caller !== null, 'this file is the entry of a thread');
const reply = (message: PreparerReply) => caller.postMessage(message);

// One task at a time: the caller waits for each.
caller.on('message', async (task: PreparerTask | null) => {
  if (task === null) {
    caller.close();
    return;
  }
  try {
    reply({ kind: 'done', result: await resultOf(task) });
  } catch (error) {
    reply({ kind: 'failed', problem: plain(error) });
  }
});

function resultOf(task: PreparerTask) {
  if (task.kind === 'prepare') {
    return prepareModel(task.onnxPath, task.modelDir, task.options, (what) => reply({ kind: 'say', what }));
  }
  const { dir, name, precision } = task;
  const scan: PlainScan = (({ versions, problems, skipped, notes }) => ({
    versions,
    problems: problems.map((one) => ({ ...one, error: plain(one.error) })),
    skipped,
    notes,
  }))(name === null ? scanRepository(dir, precision) : scanNamed(dir, name, precision));
  return scan;
}

/** Errors lose their class on the way between threads. */
function plain(error: unknown): PlainProblem {
  if (error instanceof EscapementError) {
    const { code, what, place } = error;
    return { code, what, place };
  }
  const what = error instanceof Error ? (error.stack ?? error.message) : String(error);
  const place: ErrorPlace = {};
  return { code: 'E_MODEL_FILE', what: `cannot be prepared: ${what}`, place };
}
