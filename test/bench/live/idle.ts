import { type Action, INFER, STATUS_OK } from '../../../src/core/action.js';
import type { RunObserver } from '../../../src/core/observer.js';
import type { RequestTable } from '../../../src/core/request.js';
import { live } from '../../../src/run/live.js';
import { run } from '../../../src/run/run.js';
import { type Bench, experimentOf, type Subject } from './subject.js';

/** Figures of a machine with hardly any load, ns. */
export interface IdleFigures {
  /** From sending an action to its begin, and from its end to its result: p50 and p99. */
  readonly there: readonly [number, number];
  readonly back: readonly [number, number];
  /** What an answer takes beyond its own INFER: p50 and p99. */
  readonly added: readonly [number, number];
  readonly requests: number;
}

/** Sends one request at a time, so that none waits for another, and looks where the time goes. */
export async function measureIdle(
  bench: Bench,
  subject: Subject,
  rateRps: number,
  seconds: number,
): Promise<IdleFigures> {
  const observer = new IdleObserver();
  const experiment = await experimentOf(bench, {
    subjects: [subject],
    workload: `{ kind: fixed, rate: ${rateRps}/s, duration: ${seconds}s }`,
    sloMs: 1000,
    seconds,
  });
  await run(experiment, live(), { observer });
  const { there, back, added } = observer;
  return { there: middle(there), back: middle(back), added: middle(added), requests: added.length };
}

class IdleObserver implements RunObserver {
  readonly there: number[] = [];
  readonly back: number[] = [];
  readonly added: number[] = [];

  answered(
    requests: RequestTable,
    slot: number,
    _outcome: number,
    nowNs: number,
    _copies: number,
    action: Action | null,
  ): void {
    // The first waits for a LOAD.
    if (action === null || action.count !== 1 || requests.arrivalCopies[slot] === 0) return;
    this.added.push(nowNs - requests.arrivalNs[slot] - (action.endNs - action.beginNs));
  }

  completed(action: Action, nowNs: number): void {
    if (action.kind !== INFER || action.status !== STATUS_OK) return;
    this.there.push(action.beginNs - action.sentNs);
    this.back.push(nowNs - action.endNs);
  }
}

function middle(values: number[]): readonly [number, number] {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (share: number) =>
    sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN;
  return [at(0.5), at(0.99)];
}
