import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  INFER,
  LOAD,
  STATUS_ABORTED,
  STATUS_INFER_TOO_LATE,
  STATUS_OK,
  STATUS_WEIGHTS_MISSING,
  UNLOAD,
} from '../../src/core/action.js';
import {
  OUTCOME_ERROR,
  OUTCOME_LATE,
  OUTCOME_OK,
  OUTCOME_REJECTED,
  OUTCOME_TIMEOUT,
} from '../../src/core/request.js';
import { type ActionRecord, type Run, run } from './fixtures.js';
import { optionsOf, type RandomRun, randomRun } from './random-run.js';

/** Statuses of actions that did run on their lane. */
const RAN = [STATUS_OK, 54, 84];
/** Statuses of INFERs whose requests policies may take back. */
const GIVEN_BACK = [STATUS_ABORTED, STATUS_INFER_TOO_LATE, STATUS_WEIGHTS_MISSING];

function holdsFor(check: (result: Run, drawn: RandomRun) => void, numRuns = 40): Promise<void> {
  return fc.assert(
    fc.asyncProperty(randomRun, async (drawn) =>
      check(await run({ ...optionsOf(drawn), checks: true }), drawn),
    ),
    { numRuns },
  );
}

/** An INFER that was aborted took its lane until then, unless it waited. */
function tookLane({ status, beginNs, endNs }: ActionRecord): boolean {
  return RAN.includes(status) || (status === STATUS_ABORTED && endNs > beginNs);
}

function onLane(actions: readonly ActionRecord[], gpu: number, kind: number): ActionRecord[] {
  return actions
    .filter((action) => action.gpu === gpu && action.kind === kind && tookLane(action))
    .sort((a, b) => a.beginNs - b.beginNs || a.endNs - b.endNs);
}

describe('in every simulated run, whatever the cluster, the policy and the faults', () => {
  it('each request that was offered is answered exactly once, and none before it came', async () => {
    await holdsFor(({ offered, answers, simulator }) => {
      expect(answers.map(({ id }) => id).sort((a, b) => a - b)).toEqual(
        Array.from({ length: offered }, (_, id) => id),
      );
      for (const { arrivalNs, nowNs } of answers) expect(nowNs).toBeGreaterThanOrEqual(arrivalNs);
      expect(simulator.controller.requests.size).toBe(0);
    });
  });

  it('each action has exactly one result', async () => {
    await holdsFor(({ actions }) => {
      expect(actions.map(({ id }) => id).sort((a, b) => a - b)).toEqual(actions.map((_, id) => id));
    });
  });

  it('each lane runs one thing at a time', async () => {
    await holdsFor(({ actions }, { gpus }) => {
      for (let gpu = 0; gpu < gpus; gpu++) {
        for (const kind of [INFER, LOAD]) {
          const ran = onLane(actions, gpu, kind);
          for (let i = 1; i < ran.length; i++)
            expect(ran[i].beginNs).toBeGreaterThanOrEqual(ran[i - 1].endNs);
        }
      }
    });
  });

  it('each executed action began within its window, and each other took no time', async () => {
    await holdsFor(({ actions }, { faults }) => {
      const { overheadNs = 0 } = faults as { overheadNs?: number };
      for (const { kind, status, beginNs, endNs, earliestNs, latestNs } of actions) {
        if (status === STATUS_ABORTED) expect(endNs).toBeGreaterThanOrEqual(beginNs);
        else if (RAN.includes(status) && kind !== UNLOAD) {
          expect(beginNs).toBeGreaterThanOrEqual(earliestNs);
          expect(beginNs - overheadNs).toBeLessThanOrEqual(latestNs);
        } else expect(endNs).toBe(beginNs);
      }
    });
  });

  it('executions take as long as the profile says where there is no noise', async () => {
    await holdsFor(({ actions }, { models, faults }) => {
      const { noise, gpuClock, changes } = faults as {
        noise?: { exec: number; stragglers: number; load: number };
        gpuClock?: unknown[];
        changes?: unknown[];
      };
      if (changes !== undefined) return;
      const exact =
        (noise?.exec ?? 0) === 0 && (noise?.stragglers ?? 0) === 0 && (gpuClock ?? []).length === 0;
      for (const { kind, status, model, batchIndex, beginNs, endNs } of actions) {
        if (!RAN.includes(status) || kind === UNLOAD) continue;
        if (kind === INFER && exact) expect(endNs - beginNs).toBe(models[model].execNs[batchIndex]);
        if (kind === LOAD && (noise?.load ?? 0) === 0) expect(endNs - beginNs).toBe(models[model].loadNs);
      }
    });
  });

  it('a batch is never empty, and runs in the smallest size that holds it', async () => {
    await holdsFor(({ actions }, { models }) => {
      for (const { kind, model, batchIndex, batchSize, count } of actions) {
        if (kind !== INFER) continue;
        expect(batchSize).toBe(models[model].batchSizes[batchIndex]);
        expect(count).toBeLessThanOrEqual(batchSize);
        expect(count).toBeGreaterThan(batchIndex === 0 ? 0 : models[model].batchSizes[batchIndex - 1]);
      }
    });
  });

  it('outcomes are what happened: ok by the deadline, late after it, error with a failed action', async () => {
    await holdsFor(({ answers, actions }) => {
      const byId = new Map(actions.map((action) => [action.id, action]));
      const served = new Map<number, number>();
      for (const { outcome, action, model, arrivalNs, sloNs, nowNs } of answers) {
        if (outcome === OUTCOME_TIMEOUT || outcome === OUTCOME_REJECTED) {
          expect(action).toBe(-1);
          continue;
        }
        const infer = byId.get(action) as ActionRecord;
        served.set(action, (served.get(action) ?? 0) + 1);
        expect([infer.kind, infer.model, infer.handledNs]).toEqual([INFER, model, nowNs]);
        expect(infer.status === STATUS_OK).toBe(outcome !== OUTCOME_ERROR);
        if (outcome === OUTCOME_OK) expect(nowNs).toBeLessThanOrEqual(arrivalNs + sloNs);
        if (outcome === OUTCOME_LATE) expect(nowNs).toBeGreaterThan(arrivalNs + sloNs);
      }
      for (const { id, kind, status, count } of actions) {
        const answered = served.get(id) ?? 0;
        // What was aborted in time, or may have been taken back, is served by another action.
        if (GIVEN_BACK.includes(status)) expect(answered).toBeLessThanOrEqual(count);
        else expect(answered).toBe(kind === INFER ? count : 0);
      }
    });
  });

  it('time is a whole number of nanoseconds', async () => {
    await holdsFor(({ answers, actions }) => {
      for (const { nowNs } of answers) expect(Number.isSafeInteger(nowNs)).toBe(true);
      for (const { sentNs, earliestNs, latestNs, beginNs, endNs } of actions) {
        for (const ns of [sentNs, earliestNs, latestNs, beginNs, endNs]) {
          expect(ns === Number.POSITIVE_INFINITY || Number.isSafeInteger(ns)).toBe(true);
        }
      }
    });
  });

  it('fifo serves everything: nothing times out and nothing is refused', async () => {
    await holdsFor(({ answers }, { policy }) => {
      if (policy.policy !== 'fifo') return;
      for (const { outcome } of answers) expect([OUTCOME_OK, OUTCOME_LATE, OUTCOME_ERROR]).toContain(outcome);
    });
  });

  it('the same run again decides the same', async () => {
    await fc.assert(
      fc.asyncProperty(randomRun, async (drawn) => {
        const [first, second] = [await run(optionsOf(drawn)), await run(optionsOf(drawn))];
        expect(second.digest).toBe(first.digest);
        expect(second.actions).toEqual(first.actions);
        expect(second.answers).toEqual(first.answers);
      }),
      { numRuns: 30 },
    );
  });

  it('checking invariants on the way changes nothing', async () => {
    await holdsFor(async (checked, drawn) => {
      expect((await run(optionsOf(drawn))).digest).toBe(checked.digest);
    }, 20);
  });
});
