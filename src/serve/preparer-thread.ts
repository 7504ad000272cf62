// Entry of the thread that reads, optimizes and profiles models while others are served.
import '../live/ort/environment.js';
import { parentPort } from 'node:worker_threads';
import { invariant } from '../base/invariant.js';
import { endRuntimeCalls } from '../live/ort/runtime-call.js';
import type { RuntimeProblem } from '../live/ort/runtime-problem.js';
import { passOnWarnings } from '../live/warnings.js';
import {
  type PlainList,
  type PreparedModel,
  type PreparerTask,
  performTask,
  plain,
} from './prepare-model.js';

/** Replies. A task is over with `done` or `failed`. */
export type PreparerReply =
  | { readonly kind: 'say'; readonly what: string }
  | { readonly kind: 'done'; readonly result: PlainList | PreparedModel | null }
  | { readonly kind: 'failed'; readonly problem: RuntimeProblem };

passOnWarnings('preparer');
const caller = parentPort;
invariant(caller !== null, 'this file is the entry of a thread');
const reply = (message: PreparerReply) => caller.postMessage(message);
const say = (what: string) => reply({ kind: 'say', what });

// One task at a time: the caller waits for each. Null: end with all work.
caller.on('message', async (task: PreparerTask | null) => {
  if (task === null) {
    endRuntimeCalls();
    caller.close();
    return;
  }
  try {
    reply({ kind: 'done', result: await performTask(task, say) });
  } catch (error) {
    reply({ kind: 'failed', problem: plain(error, say) });
  }
});
