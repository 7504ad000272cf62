import type { Experiment } from '../../../src/config/experiment.js';
import { type Action, INFER, STATUS_OK } from '../../../src/core/action.js';
import type { RunObserver } from '../../../src/core/observer.js';
import type { RequestTable } from '../../../src/core/request.js';
import { live } from '../../../src/run/live.js';
import { run } from '../../../src/run/run.js';
import type { DurationSpread } from '../../../src/sim/spread.js';
import { type Bench, experimentOf, type MachineDelays, type Subject } from './subject.js';

/** Figures of a machine with hardly any load, ns. */
export interface IdleFigures {
  /** From sending an action to its begin, and from its end to its result: p50 and p99. */
  readonly there: readonly [number, number];
  readonly back: readonly [number, number];
  /** What an answer takes beyond its own INFER: p50 and p99. */
  readonly added: readonly [number, number];
  readonly requests: number;
}

/**
 * What a simulation must know of the machine, measured under a high load: between two INFERs that wait for each
 * other lies the overhead; there and back, an INFER on an idle lane takes two delays more. What an INFER takes longer
 * than its profile says, because other threads were at the caches in between, is overhead, too.
 */
export async function measureDelays(
  bench: Bench,
  subjects: readonly Subject[],
  rateRps: number,
  seconds: number,
): Promise<MachineDelays> {
  const experiment = await experimentOf(bench, {
    subjects,
    workload: `{ kind: poisson, rate: ${rateRps}/s, duration: ${seconds}s }`,
    sloMs: 1000,
    seconds,
  });
  const observer = new DelayObserver(experiment);
  await run(experiment, live(), { observer });
  const overheadNs = trimmedMean(observer.gaps);
  const wayNs = middle(observer.there)[0] + middle(observer.back)[0] - overheadNs;
  const excessNs = Math.max(0, trimmedMean(observer.excesses));
  return { delayNs: Math.max(0, wayNs / 2), overheadNs: overheadNs + excessNs };
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

class DelayObserver implements RunObserver {
  /** From the end of an INFER to the begin of one that waited for it. */
  readonly gaps: number[] = [];
  readonly there: number[] = [];
  readonly back: number[] = [];
  /** How much longer than profiled each INFER took. */
  readonly excesses: number[] = [];
  private lastEndNs = 0;
  private lastModel = -1;

  constructor(private readonly experiment: Experiment) {}

  answered(): void {
    // Only actions are looked at.
  }

  completed({ kind, status, model, batchIndex, sentNs, beginNs, endNs }: Action, nowNs: number): void {
    if (kind !== INFER || status !== STATUS_OK) return;
    const { models, spreads } = this.experiment;
    const spread = spreads[0][model];
    const switchNs = model === this.lastModel ? 0 : (spread?.switchNs[batchIndex] ?? 0);
    const drawnNs = models[model].execNs[batchIndex] * meanOf(spread?.exec[batchIndex] ?? null);
    this.excesses.push(endNs - beginNs - drawnNs - switchNs);
    this.lastModel = model;
    if (sentNs < this.lastEndNs) this.gaps.push(beginNs - this.lastEndNs);
    else this.there.push(beginNs - sentNs);
    this.back.push(nowNs - endNs);
    this.lastEndNs = endNs;
  }
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

/** Of the factors that a simulation draws. */
function meanOf(spread: DurationSpread | null): number {
  if (spread === null) return 1;
  const { shares, factors } = spread;
  return shares
    .slice(1)
    .reduce((sum, share, i) => sum + ((share - shares[i]) * (factors[i] + factors[i + 1])) / 2, 0);
}

/** Without the outermost 5 % on both sides: a hiccup of the machine is no property of it. */
function trimmedMean(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const cut = Math.floor(0.05 * sorted.length);
  const kept = sorted.slice(cut, sorted.length - cut);
  return kept.reduce((sum, value) => sum + value, 0) / kept.length;
}

function middle(values: number[]): readonly [number, number] {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (share: number) =>
    sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN;
  return [at(0.5), at(0.99)];
}
