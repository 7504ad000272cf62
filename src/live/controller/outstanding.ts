import type { Clock } from '../../base/clock/clock.js';
import { NS_PER_S } from '../../base/units.js';
import type { Timer } from '../../base/world/time.js';
import type { Action } from '../../core/action.js';
import type { RequestTable } from '../../core/request.js';
import { AscendingIds } from '../ascending-ids.js';
import type { Answers } from './answers.js';
import type { Fleet } from './fleet.js';

/** Actions sent without a result. */
export class Outstanding {
  private readonly ofGpu: AscendingIds<Action>[] = [];

  add(action: Action): void {
    const { gpu, id } = action;
    this.ofGpu[gpu] ??= new AscendingIds();
    this.ofGpu[gpu].add(id, action);
  }

  /** Removes and returns the action sent to the GPU; null if it was given up before. */
  take(gpu: number, id: number): Action | null {
    return this.ofGpu[gpu]?.take(id) ?? null;
  }

  /** Removes and returns all actions sent to the GPU, oldest first. */
  takeAll(gpu: number): Action[] {
    const taken = [...(this.ofGpu[gpu] ?? [])];
    this.ofGpu[gpu]?.clear();
    return taken;
  }

  /** Actions whose results are overdue by more than `graceNs`, even at `times` the expected duration. */
  overdue(nowNs: number, times: number, graceNs: number): Action[] {
    return this.ofGpu.flatMap((actions) =>
      [...actions].filter((action) => dueNs(action, times) + graceNs < nowNs),
    );
  }
}

function dueNs(action: Action, times: number): number {
  const startNs = Number.isFinite(action.latestNs) ? action.latestNs : action.expectedEndNs;
  // An UNLOAD is expected to end at 0: before everything else.
  return Math.max(startNs, action.sentNs) + times * action.expectedDurationNs;
}

/** Polling interval. */
const WATCH_MS = 100;

/** Doubt a result that has not arrived after this multiple of its action's expected time, plus this. */
const DOUBTED_TIMES = 2;
const DOUBTED_NS = NS_PER_S;
/** Give up its worker after this multiple of the expected time, plus the configured time. */
const HUNG_TIMES = 10;

/**
 * Watches for missing results: requests that wait for one are answered once their deadline has passed, since nothing
 * can be in time any more; workers that owe one for too long are given up.
 */
export class HangWatch {
  private readonly timer: Timer;

  constructor(
    private readonly outstanding: Outstanding,
    private readonly answers: Answers,
    private readonly requests: RequestTable,
    private readonly options: { readonly clock: Clock; readonly fleet: Fleet; readonly hangNs: number },
  ) {
    this.timer = options.clock.time.every(WATCH_MS, () => this.look());
  }

  close(): void {
    this.timer.cancel();
  }

  private look(): void {
    const { outstanding, answers } = this;
    const { clock, fleet, hangNs } = this.options;
    const nowNs = clock.nowNs();
    for (const action of outstanding.overdue(nowNs, DOUBTED_TIMES, DOUBTED_NS))
      answers.overdue(this.requests, action, nowNs);
    answers.give();
    const hung = new Set(outstanding.overdue(nowNs, HUNG_TIMES, hangNs).map(({ gpu }) => gpu));
    for (const gpu of hung) fleet.restart(gpu, `GPU ${fleet.localGpu(gpu)} owes a result`);
  }
}
