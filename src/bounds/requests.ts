import { invariant } from '../base/invariant.js';

/** Requests of a run as a struct of arrays with one element per request, in order of arrival. */
export interface OfferedRequests {
  readonly count: number;
  /** Index among the models of the run, then its pipelines. */
  readonly model: Int32Array;
  /** ns since the start of the run, ascending. */
  readonly arrivalNs: Float64Array;
  /** SLO, ns: the answer is due at `arrivalNs + sloNs`. */
  readonly sloNs: Float64Array;
  /** Value of each, above 0; absent: all have 1. */
  readonly weight?: Float64Array;
  /** Bucket of each input, for models that take several lengths; absent: none does. */
  readonly bucket?: Uint8Array;
  /** For requests of pipelines: number of requests of each step. */
  readonly counts?: readonly (Int32Array | undefined)[];
}

/** Requests that some batch could serve in time, each with a window [arrival, deadline] at a GPU; in order of arrival. */
export interface Windows {
  readonly count: number;
  /** Index among the offered requests. */
  readonly request: Int32Array;
  readonly arrivalNs: Float64Array;
  readonly deadlineNs: Float64Array;
  /** Value of each; null: all have 1. */
  readonly weight: Float64Array | null;
  readonly bucket: Uint8Array;
  /** Indices of the requests, model by model, those of a model in order of arrival. */
  readonly byModel: Int32Array;
  /** The requests of model m are `byModel[firstOf[m]]` to `byModel[firstOf[m + 1] - 1]`. */
  readonly firstOf: Int32Array;
}

/**
 * `leastNs`: shortest execution by model and bucket; a request whose window is shorter cannot be served. `delayNs`: one-way
 * delay of messages to a GPU and back, which windows leave out. `readyNs`: by model, earliest start of a batch.
 */
export function servableWindows(
  requests: OfferedRequests,
  leastNs: readonly (readonly number[])[],
  delayNs = 0,
  readyNs: readonly number[] = [],
): Windows {
  const { model, arrivalNs, sloNs, bucket } = requests;
  const opensNs = (i: number) => Math.max(arrivalNs[i] + delayNs, readyNs[model[i]] ?? 0);
  const closesNs = (i: number) => arrivalNs[i] + sloNs[i] - delayNs;
  const kept = new Int32Array(requests.count);
  let count = 0;
  for (let i = 0; i < requests.count; i++) {
    invariant(i === 0 || arrivalNs[i] >= arrivalNs[i - 1], 'requests are sorted by arrival');
    if (closesNs(i) - opensNs(i) >= leastNs[model[i]][bucket?.[i] ?? 0]) kept[count++] = i;
  }
  return windowsOf(requests, kept.subarray(0, count), opensNs, closesNs, leastNs.length);
}

/** Windows of some of the requests, in order of their opening. */
export function windowsOf(
  { model, weight, bucket }: OfferedRequests,
  kept: Int32Array,
  opensNs: (i: number) => number,
  closesNs: (i: number) => number,
  models: number,
): Windows {
  const request = kept.sort((a, b) => opensNs(a) - opensNs(b) || a - b);
  return {
    count: request.length,
    request,
    arrivalNs: Float64Array.from(request, opensNs),
    deadlineNs: Float64Array.from(request, closesNs),
    weight: weight === undefined ? null : Float64Array.from(request, (i) => weight[i]),
    bucket: Uint8Array.from(request, (i) => bucket?.[i] ?? 0),
    ...groupByModel(
      Int32Array.from(request, (i) => model[i]),
      models,
    ),
  };
}

/** A counting sort: stable, so that each model's requests stay in order of arrival. */
function groupByModel(model: Int32Array, models: number): Pick<Windows, 'byModel' | 'firstOf'> {
  const firstOf = new Int32Array(models + 1);
  for (let i = 0; i < model.length; i++) firstOf[model[i] + 1]++;
  for (let m = 0; m < models; m++) firstOf[m + 1] += firstOf[m];
  const next = firstOf.slice(0, models);
  const byModel = new Int32Array(model.length);
  for (let i = 0; i < model.length; i++) byModel[next[model[i]]++] = i;
  return { byModel, firstOf };
}
