// Entry of the thread in which it is checked whether a model's rows depend on each other.
import { readFileSync } from 'node:fs';
import type { BatchingTask } from './batching.js';
import { type BatchingCheck, checkBatching } from './check-batching.js';
import { answerCaller } from './thread-call.js';

await answerCaller<BatchingTask, BatchingCheck>((task) =>
  checkBatching(new Uint8Array(readFileSync(task.ortPath)), task),
);
