import { POLICIES } from '../../src/policies/registry.js';
import { growthCases } from './cases.js';
import { median, type Run, runInChild } from './child.js';

/** What the others are held against; it runs with the options of the case, they with their defaults. */
const REFERENCE = 'clockwork';

/** What a policy costs on a case; medians of the runs. */
export interface PolicyLine {
  readonly case: string;
  readonly policy: string;
  readonly runs: number;
  readonly requests: number;
  readonly processedRps: number;
  readonly usPerRequest: number;
  /** Time per request to that of `clockwork` in the same round; below 1 is faster. */
  readonly ratio: number;
  /** CPU time, which a busy machine changes far less than the time that a run takes. */
  readonly cpuUsPerRequest: number;
  /** CPU time per arrival or action that got a result: where GPUs are filled, a request comes with more LOADs. */
  readonly cpuUsPerEvent: number;
  readonly peakRssMB: number;
  readonly attainment: number | null;
  readonly digest: string;
}

/**
 * Runs every policy on more and more GPUs under the same load per GPU, each run in a process of its own, a round of all
 * policies after the other: what disturbs the machine for a while disturbs neighbours alike, so that ratios within a
 * round are steadier than times.
 */
export function benchGrowth(rounds: number, only: string, onLine: (line: PolicyLine) => void): void {
  const kinds = [REFERENCE, ...POLICIES.map(({ kind }) => kind).filter((kind) => kind !== REFERENCE)];
  for (const { name } of growthCases()) {
    if (!name.includes(only)) continue;
    const runs = Array.from({ length: rounds }, () =>
      kinds.map((kind) => runInChild({ name, trace: undefined, overrides: policyOverrides(kind) })),
    );
    kinds.forEach((policy, at) => {
      const own = runs.map((round) => round[at]);
      const of = (value: (one: Run) => number) => median(own.map(value));
      const { requests, events, attainment, digest } = own[0];
      const processedRps = of((one) => one.processedRps);
      const cpuUs = 1e6 * of(({ cpuSeconds }) => cpuSeconds);
      onLine({
        ...{ case: name, policy, runs: rounds, requests },
        processedRps: Math.round(processedRps),
        usPerRequest: digits(1e6 / processedRps),
        ratio: digits(median(runs.map((round) => round[0].processedRps / round[at].processedRps))),
        cpuUsPerRequest: digits(cpuUs / requests),
        cpuUsPerEvent: digits(cpuUs / events),
        peakRssMB: Math.round(of(({ peakRssBytes }) => peakRssBytes) / 1e6),
        ...{ attainment, digest },
      });
    });
  }
}

function policyOverrides(kind: string): string[] {
  return kind === REFERENCE ? [] : [`policy={ kind: ${kind} }`];
}

function digits(value: number): number {
  return Number(value.toPrecision(4));
}
