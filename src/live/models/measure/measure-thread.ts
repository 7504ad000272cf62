// Entry of the thread in which a model is measured.
import { readFileSync } from 'node:fs';
import { monotonicNs } from '../../../base/clock/clock.js';
import { withBatching } from './batching.js';
import { checkBatching } from './check-batching.js';
import type { MeasuredModel, MeasureSpec } from './measure.js';
import { MEASURE_BUDGET_NS, timeSession } from './session-timing.js';
import { answerCaller } from './thread-call.js';

await answerCaller<MeasureSpec, MeasuredModel>(async (spec, onProgress) => {
  const modelBytes = new Uint8Array(readFileSync(spec.ortPath));
  const { check = null, budgetNs = MEASURE_BUDGET_NS } = spec;
  const beginNs = monotonicNs();
  if (check !== null) onProgress(0, 'check of batches');
  const batching =
    check === null
      ? null
      : await checkBatching(modelBytes, { ...spec, ...check, untilNs: beginNs + budgetNs / 2 });
  const served = check?.isIgnored ? spec : withBatching(spec, batching);
  const timing = await timeSession(modelBytes, served, beginNs + budgetNs, onProgress);
  return { timing, weightsBytes: modelBytes.length, batching };
});
