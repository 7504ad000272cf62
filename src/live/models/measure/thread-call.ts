import '../../ort/no-telemetry.js';
import { parentPort, Worker as Thread, workerData } from 'node:worker_threads';
import { compiledNextTo } from '../../../base/compiled.js';
import { type ErrorCode, EscapementError } from '../../../base/errors.js';
import { invariant } from '../../../base/invariant.js';
import { passOnWarnings } from '../../warnings.js';

/** Gets the share that is done, from 0 to 1, and what comes next. */
export type OnProgress = (share: number, next: string) => void;

/** What a thread says while it works. */
type Report<T> =
  | { readonly kind: 'progress'; readonly share: number; readonly next: string }
  | { readonly kind: 'done'; readonly result: T }
  | { readonly kind: 'failed'; readonly code: ErrorCode; readonly message: string };

/**
 * Has the thread of the file `entry`, which calls `answerCaller`, work on `task`: onnxruntime blocks the thread that
 * calls it. Rejects with the coded error that the thread meets.
 */
export function callThread<T>(entry: string, task: unknown, onProgress: OnProgress): Promise<T> {
  return new Promise((resolve, reject) => {
    const thread = new Thread(compiledNextTo(import.meta.url, entry), { workerData: task });
    thread.on('message', (report: Report<T>) => {
      if (report.kind === 'progress') onProgress(report.share, report.next);
      else if (report.kind === 'failed') reject(new EscapementError(report.code, report.message));
      else resolve(report.result);
    });
    thread.on('error', reject);
    thread.on('exit', (status) => reject(new Error(`the thread of ${entry} ended with status ${status}`)));
  });
}

/** The thread's side of `callThread`. */
export async function answerCaller<Task, T>(
  work: (task: Task, onProgress: OnProgress) => Promise<T>,
): Promise<void> {
  passOnWarnings('measure');
  const caller = parentPort;
  invariant(caller !== null, 'this file is the entry of a thread');
  const report = (message: Report<T>) => caller.postMessage(message);
  try {
    const result = await work(workerData as Task, (share, next) => report({ kind: 'progress', share, next }));
    report({ kind: 'done', result });
  } catch (error) {
    if (!(error instanceof EscapementError)) throw error;
    report({ kind: 'failed', code: error.code, message: error.message });
  }
}
