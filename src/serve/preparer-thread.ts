// Entry of the thread that reads, optimizes and profiles models while others are served.
import '../live/ort/environment.js';
import { parentPort } from 'node:worker_threads';
import { invariant } from '../base/invariant.js';
import { endRuntimeCalls } from '../live/ort/runtime-call.js';
import { problemError } from '../live/ort/runtime-problem.js';
import { Channel } from '../live/transfer.js';
import { passOnWarnings } from '../live/warnings.js';
import { type PreparerTask, performTask, plain } from './prepare-model.js';

/** Methods of the thread. */
export interface PreparerCalls {
  /** One task at a time: the caller waits for each. */
  perform(task: PreparerTask): ReturnType<typeof performTask>;
  /** Ends it with all work. */
  end(): void;
}

passOnWarnings('preparer');
const caller = parentPort;
invariant(caller !== null, 'this file is the entry of a thread');
const say = (what: string) => channel.send('say', [what]);
const channel = new Channel<{ say(what: string): void }>(caller, {
  perform: (task) =>
    performTask(task, say).catch((error) => {
      throw problemError(plain(error, say));
    }),
  end: () => {
    endRuntimeCalls();
    caller.close();
  },
} satisfies PreparerCalls);
