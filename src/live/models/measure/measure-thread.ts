// Entry of the thread in which a model is measured.
import { readFileSync } from 'node:fs';
import { withBatching } from './batching.js';
import { checkBatching } from './check-batching.js';
import type { MeasuredModel, MeasureSpec } from './measure.js';
import { timeSession } from './session-timing.js';
import { answerCaller } from './thread-call.js';

await answerCaller<MeasureSpec, MeasuredModel>(async (spec, onProgress) => {
  const modelBytes = new Uint8Array(readFileSync(spec.ortPath));
  const { check = null } = spec;
  if (check !== null) onProgress(0, 'check of batches');
  const batching = check === null ? null : await checkBatching(modelBytes, { ...spec, ...check });
  const served = check?.isIgnored ? spec : withBatching(spec, batching);
  const timing = await timeSession(modelBytes, served, onProgress);
  return { timing, weightsBytes: modelBytes.length, batching };
});
