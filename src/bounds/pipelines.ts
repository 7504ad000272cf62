import { bucketOf } from '../core/lengths.js';
import type { ModelSpec } from '../core/model.js';
import { type PipelineSpec, variantsOf } from '../core/pipelines.js';
import { type OfferedRequests, type Windows, windowsOf } from './requests.js';

/** Requests of pipelines as those of their steps, one for each variant that may serve them, in order of arrival. */
interface StepRequests extends OfferedRequests {
  /** By request: number of the request of a step that it is a variant of. */
  readonly task: Int32Array;
  /** By request of a step: index of the one that it is a part of. */
  readonly parent: Int32Array;
}

/**
 * Requests for models only: in place of each for a pipeline those of its steps, each within the most time that the steps
 * before and after leave it. `leastNs`: shortest execution by model and bucket; `delayNs`: that of messages each way.
 */
export function stepRequests(
  { count, model, arrivalNs, sloNs, counts, bucket }: OfferedRequests,
  models: readonly ModelSpec[],
  pipelines: readonly PipelineSpec[],
  leastNs: readonly (readonly number[])[],
  delayNs: number,
): StepRequests {
  const rows: { model: number; fromNs: number; sloNs: number; bucket: number; task: number }[] = [];
  const parent: number[] = [];
  const bucketOfStep = (of: number) => bucketOf(models[of], 0);
  for (let i = 0; i < count; i++) {
    const own = { model: model[i], fromNs: arrivalNs[i], sloNs: sloNs[i], bucket: bucket?.[i] ?? 0 };
    if (own.model < models.length) {
      rows.push({ ...own, task: parent.push(i) - 1 });
      continue;
    }
    const { steps } = pipelines[own.model - models.length];
    const needed = neededCounts(steps, counts?.[i] ?? new Int32Array(steps.length));
    const ownNs = steps.map((step, s) => {
      const shortest = variantsOf(step).map((each) => leastNs[each.model][bucketOfStep(each.model)]);
      return needed[s] > 0 ? Math.min(...shortest) + 2 * delayNs : 0;
    });
    const beforeNs: number[] = [];
    for (const { after } of steps)
      beforeNs.push(Math.max(0, ...after.map((before) => beforeNs[before] + ownNs[before])));
    const restNs = new Float64Array(steps.length);
    for (let s = steps.length - 1; s >= 0; s--)
      for (const before of steps[s].after) restNs[before] = Math.max(restNs[before], ownNs[s] + restNs[s]);
    for (const [s, step] of steps.entries()) {
      const window = { fromNs: own.fromNs + beforeNs[s], sloNs: own.sloNs - beforeNs[s] - restNs[s] };
      for (let n = 0; n < needed[s]; n++) {
        const task = parent.push(i) - 1;
        for (const each of variantsOf(step))
          rows.push({ ...window, model: each.model, bucket: bucketOfStep(each.model), task });
      }
    }
  }
  rows.sort((a, b) => a.fromNs - b.fromNs || a.task - b.task);
  return {
    count: rows.length,
    model: Int32Array.from(rows, (row) => row.model),
    arrivalNs: Float64Array.from(rows, (row) => row.fromNs),
    sloNs: Float64Array.from(rows, (row) => row.sloNs),
    bucket: Uint8Array.from(rows, (row) => row.bucket),
    task: Int32Array.from(rows, (row) => row.task),
    parent: Int32Array.from(parent),
  };
}

/** Number of requests of each step: one that comes after nothing but skipped steps is skipped. */
function neededCounts(steps: PipelineSpec['steps'], drawn: Int32Array): Int32Array {
  const needed = drawn.slice();
  for (const [s, { after }] of steps.entries())
    if (after.length > 0 && after.every((before) => needed[before] === 0)) needed[s] = 0;
  return needed;
}

/** Requests of models and pipelines with the windows and total costs of their steps. */
interface JoinedRequests {
  readonly windows: Windows;
  readonly costsNs: readonly Float64Array[];
  /** Requests without any step, or their weight: they are answered on arrival. */
  readonly free: number;
}

/**
 * Joins the windows and costs of steps by request, each step by the cheapest variant. One of which a step cannot be
 * served is left out.
 */
export function joinSteps(
  requests: OfferedRequests,
  { task, parent }: StepRequests,
  windows: Windows,
  rowCostsNs: readonly Float64Array[],
  targets: number,
): JoinedRequests {
  const { count, weight } = requests;
  const opensNs = new Float64Array(count).fill(Number.POSITIVE_INFINITY);
  const closesNs = new Float64Array(count);
  for (const [p, row] of windows.request.entries()) {
    const i = parent[task[row]];
    opensNs[i] = Math.min(opensNs[i], windows.arrivalNs[p]);
    closesNs[i] = Math.max(closesNs[i], windows.deadlineNs[p]);
  }
  const costsNs = rowCostsNs.map((rowNs) => {
    const taskNs = new Float64Array(parent.length).fill(Number.POSITIVE_INFINITY);
    for (const [p, row] of windows.request.entries())
      taskNs[task[row]] = Math.min(taskNs[task[row]], rowNs[p]);
    const costNs = new Float64Array(count);
    for (const [t, i] of parent.entries()) costNs[i] += taskNs[t];
    return costNs;
  });
  const isServable = (i: number) => costsNs[0][i] > 0 && costsNs[0][i] < Number.POSITIVE_INFINITY;
  const joined = windowsOf(
    requests,
    Int32Array.from({ length: count }, (_, i) => i).filter(isServable),
    (i) => opensNs[i],
    (i) => closesNs[i],
    targets,
  );
  return {
    windows: joined,
    costsNs: costsNs.map((ofAll) => Float64Array.from(joined.request, (i) => ofAll[i])),
    free: costsNs[0].reduce((sum, costNs, i) => (costNs === 0 ? sum + (weight?.[i] ?? 1) : sum), 0),
  };
}
