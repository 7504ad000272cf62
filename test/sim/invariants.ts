import {
  INFER,
  LOAD,
  STATUS_ABORTED,
  STATUS_INFER_TOO_LATE,
  STATUS_INFER_WEIGHTS_CHANGED,
  STATUS_OK,
  STATUS_WEIGHTS_MISSING,
  STATUS_WORKER_LOST,
  UNLOAD,
} from '../../src/core/action.js';
import type { GpuKind } from '../../src/core/cluster-spec.js';
import { type Padding, timesOfBucket } from '../../src/core/lengths.js';
import type { ModelSpec } from '../../src/core/model.js';
import {
  OUTCOME_CANCELLED,
  OUTCOME_ERROR,
  OUTCOME_LATE,
  OUTCOME_OK,
  OUTCOME_REJECTED,
  OUTCOME_TIMEOUT,
  type Outcome,
} from '../../src/core/request.js';
import type { ActionRecord, AnswerRecord } from './fixtures.js';

/** What was seen of a run, and what the experiment says of it. */
export interface SeenRun {
  readonly models: readonly ModelSpec[];
  readonly gpus: number;
  /** Of those GPUs, in order of their numbers. */
  readonly kinds: readonly GpuKind[];
  /** True: a GPU runs a LOAD or an INFER, never both at once. */
  readonly oneLane: boolean;
  readonly overheadNs: number;
  /** Durations are those of the profiles: nothing departs from them. */
  readonly exactExec: boolean;
  readonly exactLoad: boolean;
  readonly offered: number;
  readonly actions: readonly ActionRecord[];
  readonly answers: readonly AnswerRecord[];
  /** GPUs that went with what they held, each with the number of actions that were decided before. Default: none. */
  readonly gone?: readonly { readonly gpu: number; readonly actions: number }[];
  /** How inputs of different lengths share a batch. Default: they do not differ. */
  readonly padding?: Padding;
}

/** Statuses of actions that did run on their lane. */
const RAN = [STATUS_OK, 54, 84];
const NOT_EXECUTED: readonly Outcome[] = [OUTCOME_TIMEOUT, OUTCOME_REJECTED, OUTCOME_CANCELLED];
/** Statuses of INFERs whose requests policies may take back. */
const GIVEN_BACK = [
  STATUS_WORKER_LOST,
  STATUS_ABORTED,
  STATUS_INFER_TOO_LATE,
  STATUS_WEIGHTS_MISSING,
  STATUS_INFER_WEIGHTS_CHANGED,
];

type Invariant = (run: SeenRun) => readonly string[];

/** What holds in every simulated run, whatever the cluster, the policy and the faults. Each returns what breaks it. */
export const INVARIANTS: Readonly<Record<string, Invariant>> = {
  'each request that was offered is answered exactly once, and none before it came': ({
    offered,
    answers,
  }) => {
    const ids = answers.map(({ id }) => id).sort((a, b) => a - b);
    const wrong = ids.findIndex((id, i) => id !== i);
    return [
      ...(ids.length === offered ? [] : [`${offered} offered, ${ids.length} answered`]),
      ...(wrong < 0 ? [] : [`answer ${wrong} in order is of request ${ids[wrong]}`]),
      ...broken(answers, ({ nowNs, arrivalNs }) => nowNs >= arrivalNs),
    ];
  },

  'each action has exactly one result': ({ actions }) => {
    const ids = actions.map(({ id }) => id).sort((a, b) => a - b);
    const wrong = ids.findIndex((id, i) => id !== i);
    return wrong < 0 ? [] : [`result ${wrong} in order is of action ${ids[wrong]}`];
  },

  'each lane runs one thing at a time': ({ actions, gpus, oneLane }) => {
    const lanes = oneLane ? [[INFER, LOAD]] : [[INFER], [LOAD]];
    return Array.from({ length: gpus }, (_, gpu) =>
      lanes.flatMap((kinds) => overlaps(actions, gpu, kinds)),
    ).flat();
  },

  'each executed action began within its window, and each other took no time': ({ actions, overheadNs }) =>
    broken(actions, ({ kind, status, beginNs, endNs, earliestNs, latestNs }) => {
      if (status === STATUS_ABORTED) return endNs >= beginNs;
      if (!RAN.includes(status) || kind === UNLOAD) return endNs === beginNs;
      return beginNs >= earliestNs && beginNs - overheadNs <= latestNs;
    }),

  'executions take as long as the profile says where nothing departs from it': (run) =>
    broken(run.actions, ({ kind, status, gpu, model, batchIndex, bucket, beginNs, endNs }) => {
      if (!RAN.includes(status)) return true;
      const times = timesOf(run, gpu, model);
      if (kind === INFER && run.exactExec)
        return endNs - beginNs === timesOfBucket(times, bucket)[batchIndex];
      if (kind === LOAD && run.exactLoad) return endNs - beginNs === times.loadNs;
      return true;
    }),

  'what runs is planned with the time that it takes on the kind of its GPU': (run) =>
    broken(run.actions, ({ kind, gpu, model, batchIndex, bucket, expectedDurationNs }) => {
      const times = timesOf(run, gpu, model);
      // A policy that does not know lengths learns what batches of any take.
      if (kind === INFER && run.padding === 'batch' && times.execNsByLength !== undefined) return true;
      if (kind === INFER && run.exactExec)
        return expectedDurationNs === timesOfBucket(times, bucket)[batchIndex];
      if (kind === LOAD && run.exactLoad) return expectedDurationNs === times.loadNs;
      return true;
    }),

  'what a GPU holds fits into the memory of its kind': (run) => {
    const pages = new Array<number>(run.gpus).fill(0);
    const gone = [...(run.gone ?? [])].reverse();
    return broken(
      [...run.actions].sort((a, b) => a.id - b.id),
      ({ id, kind, status, gpu, model }) => {
        while (gone.length > 0 && gone[gone.length - 1].actions <= id)
          pages[(gone.pop() as { gpu: number }).gpu] = 0;
        if (kind === LOAD && status === STATUS_OK) pages[gpu] += run.models[model].pages;
        if (kind === UNLOAD) pages[gpu] -= run.models[model].pages;
        return pages[gpu] <= run.kinds[kindOf(run, gpu)].pages;
      },
    );
  },

  'a batch is never empty, and runs in the smallest size that holds it': ({ actions, models }) =>
    broken(actions, ({ kind, model, batchIndex, batchSize, count }) => {
      if (kind !== INFER) return true;
      const { batchSizes } = models[model];
      const smaller = batchIndex === 0 ? 0 : batchSizes[batchIndex - 1];
      return batchSize === batchSizes[batchIndex] && count <= batchSize && count > smaller;
    }),

  'a batch is padded to the shortest length that holds its longest input': (run) => {
    const longest = new Map<number, number>();
    for (const { action, model, length } of run.answers)
      longest.set(
        action,
        Math.max(longest.get(action) ?? 0, length || (run.models[model]?.lengths?.at(-1) ?? 0)),
      );
    return broken(run.actions, ({ id, kind, status, model, bucket }) => {
      const { lengths } = run.models[model];
      if (kind !== INFER || lengths === undefined) return bucket === 0;
      const last = lengths.length - 1;
      if (run.padding === 'longest') return bucket === last;
      if (status !== STATUS_OK) return bucket <= last;
      const length = longest.get(id) as number;
      return lengths[bucket] >= length && (bucket === 0 || lengths[bucket - 1] < length);
    });
  },

  'outcomes are what happened: ok by the deadline, late after it, error with a failed action': ({
    answers,
    actions,
    models,
  }) => {
    const byId = new Map(actions.map((action) => [action.id, action]));
    const served = new Map<number, number>();
    for (const { action } of answers) served.set(action, (served.get(action) ?? 0) + 1);
    return [
      ...broken(answers, (answer) =>
        answer.model < models.length ? isTrue(answer, byId.get(answer.action)) : isWhole(answer),
      ),
      ...broken(actions, ({ id, kind, status, count }) => {
        const answered = served.get(id) ?? 0;
        // What was aborted in time, or may have been taken back, is served by another action.
        if (GIVEN_BACK.includes(status)) return answered <= count;
        return answered === (kind === INFER ? count : 0);
      }),
    ];
  },

  'time is a whole number of nanoseconds': ({ answers, actions }) => [
    ...broken(answers, ({ nowNs }) => Number.isSafeInteger(nowNs)),
    ...broken(actions, ({ sentNs, earliestNs, latestNs, beginNs, endNs }) =>
      [sentNs, earliestNs, latestNs, beginNs, endNs].every(
        (ns) => ns === Number.POSITIVE_INFINITY || Number.isSafeInteger(ns),
      ),
    ),
  ],
};

function kindOf({ kinds }: SeenRun, gpu: number): number {
  let end = 0;
  return kinds.findIndex(({ gpus }) => {
    end += gpus;
    return gpu < end;
  });
}

function timesOf(run: SeenRun, gpu: number, model: number) {
  const spec = run.models[model];
  return [spec, ...(spec.otherKinds ?? [])][kindOf(run, gpu)];
}

/** Whether an answer says what became of its request. `infer`: the action that it names. */
function isTrue(answer: AnswerRecord, infer: ActionRecord | undefined): boolean {
  const { outcome, action, model, arrivalNs, sloNs, nowNs } = answer;
  if (NOT_EXECUTED.includes(outcome)) return action === -1;
  if (infer === undefined || infer.kind !== INFER || infer.model !== model || infer.handledNs !== nowNs)
    return false;
  if ((infer.status === STATUS_OK) !== (outcome !== OUTCOME_ERROR)) return false;
  if (outcome === OUTCOME_OK) return nowNs <= arrivalNs + sloNs;
  return outcome !== OUTCOME_LATE || nowNs > arrivalNs + sloNs;
}

/** Whether the answer of a pipeline, which no one action served, says if it was in time. */
function isWhole({ outcome, action, arrivalNs, sloNs, nowNs }: AnswerRecord): boolean {
  const isInTime = nowNs <= arrivalNs + sloNs;
  return action === -1 && (outcome > OUTCOME_LATE || isInTime === (outcome === OUTCOME_OK));
}

/** Actions of one GPU that ran before the one before them on their lane had ended. */
function overlaps(actions: readonly ActionRecord[], gpu: number, kinds: readonly number[]): string[] {
  const ran = actions
    .filter((action) => action.gpu === gpu && kinds.includes(action.kind) && tookLane(action))
    .sort((a, b) => a.beginNs - b.beginNs || a.endNs - b.endNs);
  return broken(ran, ({ beginNs }, i) => i === 0 || beginNs >= ran[i - 1].endNs);
}

/** An INFER that was aborted took its lane until then, unless it waited. */
function tookLane({ status, beginNs, endNs }: ActionRecord): boolean {
  return RAN.includes(status) || (status === STATUS_ABORTED && endNs > beginNs);
}

/** Those for which something does not hold, as text. */
function broken<T>(records: readonly T[], holds: (record: T, index: number) => boolean): string[] {
  return records.filter((record, i) => !holds(record, i)).map((record) => JSON.stringify(record));
}
