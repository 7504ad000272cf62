import { POLICIES } from '../../src/policies/registry.js';
import { growthCases } from './cases.js';
import { median, type Run, type RunChoice, runInChild } from './child.js';

/** A case that every policy runs. */
type PolicyCase = Pick<RunChoice, 'name' | 'overrides'>;

/** Two of the cases, shortened to a second or so. */
export const SHORT_CASES: readonly PolicyCase[] = [
  { name: '15-models-1-gpu', overrides: ['workload.duration=1000s'] },
  { name: '60-models-4-gpus', overrides: ['workload.duration=200s'] },
];
/** The same load per GPU on more and more GPUs. */
export const GROWTH_CASES: readonly PolicyCase[] = growthCases().map(({ name }) => ({ name, overrides: [] }));

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
 * Runs every policy on some cases, each run in a process of its own, a round of all policies after the other: what
 * disturbs the machine for a while disturbs neighbours alike, so that ratios within a round are steadier than times.
 */
export function benchPolicies(
  cases: readonly PolicyCase[],
  rounds: number,
  only: string,
  onLine: (line: PolicyLine) => void,
  run: (choice: RunChoice) => Run = runInChild,
): void {
  const kinds = [REFERENCE, ...POLICIES.map(({ kind }) => kind).filter((kind) => kind !== REFERENCE)];
  for (const { name, overrides } of cases) {
    if (!name.includes(only)) continue;
    const runs = Array.from({ length: rounds }, () =>
      kinds.map((kind) =>
        run({ name, trace: undefined, overrides: [...policyOverrides(kind), ...overrides] }),
      ),
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
