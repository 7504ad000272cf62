// Entry of the thread in which a model is measured.
import { readFileSync } from 'node:fs';
import type { MeasuredModel, MeasureSpec } from './measure.js';
import { timeSession } from './session-timing.js';
import { answerCaller } from './thread-call.js';

await answerCaller<MeasureSpec, MeasuredModel>(async (spec, onProgress) => {
  const modelBytes = new Uint8Array(readFileSync(spec.ortPath));
  const timing = await timeSession(modelBytes, spec, onProgress);
  return { timing, weightsBytes: modelBytes.length };
});
