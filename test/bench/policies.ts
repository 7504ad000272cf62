import { POLICIES } from '../../src/policies/registry.js';
import { median, type Run, type RunChoice, runInChild } from './child.js';

/** The cases that every policy runs, shortened to a second or so. */
const CASES = [
  { name: '15-models-1-gpu', overrides: ['workload.duration=1000s'] },
  { name: '60-models-4-gpus', overrides: ['workload.duration=200s'] },
] as const;

/** What the others are held against; it runs with the options of the case, they with their defaults. */
const REFERENCE = 'clockwork';

/** What a policy costs on a case. */
export interface PolicyLine {
  readonly case: string;
  readonly policy: string;
  readonly runs: number;
  /** Median of the runs. */
  readonly processedRps: number;
  readonly usPerRequest: number;
  /** Median, over rounds, of its time per request to that of `clockwork` in the same round; below 1 is faster. */
  readonly ratio: number;
  readonly digest: string;
}

/**
 * Runs every policy on a few cases, each run in a process of its own, a round of all policies after the other: what
 * disturbs the machine for a while disturbs neighbours alike, so that ratios within a round are steadier than times.
 */
export function benchPolicies(
  rounds: number,
  only: string,
  onLine: (line: PolicyLine) => void,
  run: (choice: RunChoice) => Run = runInChild,
): void {
  const kinds = [REFERENCE, ...POLICIES.map(({ kind }) => kind).filter((kind) => kind !== REFERENCE)];
  for (const { name, overrides } of CASES) {
    if (!name.includes(only)) continue;
    const runs = Array.from({ length: rounds }, () =>
      kinds.map((kind) =>
        run({ name, trace: undefined, overrides: [...policyOverrides(kind), ...overrides] }),
      ),
    );
    kinds.forEach((policy, at) => {
      const own = runs.map((round) => round[at]);
      const processedRps = median(own.map((one) => one.processedRps));
      onLine({
        case: name,
        policy,
        runs: rounds,
        processedRps: Math.round(processedRps),
        usPerRequest: digits(1e6 / processedRps),
        ratio: digits(median(runs.map((round) => round[0].processedRps / round[at].processedRps))),
        digest: own[0].digest,
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
