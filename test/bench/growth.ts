import { POLICIES } from '../../src/policies/registry.js';
import { GROWTH } from './cases.js';
import { median, type Run, type RunChoice, runInChild } from './child.js';

const KINDS = POLICIES.map(({ kind }) => kind);

/** What a policy costs on so many GPUs. */
export interface GrowthLine {
  readonly case: string;
  readonly gpus: number;
  readonly policy: string;
  readonly runs: number;
  readonly requests: number;
  /** Medians of the runs. */
  readonly processedRps: number;
  /** A busy machine changes it far less than the time that a run takes. */
  readonly cpuUsPerRequest: number;
  /** Per arrival or action that got a result: where GPUs are filled, a request comes with more LOADs. */
  readonly cpuUsPerEvent: number;
  readonly peakRssMB: number;
  readonly attainment: number | null;
  readonly digest: string;
}

/** Runs every policy under the same load per GPU on more and more GPUs, each run in a process of its own. */
export function benchGrowth(
  rounds: number,
  only: string,
  onLine: (line: GrowthLine) => void,
  run: (choice: RunChoice) => Run = runInChild,
): void {
  for (const gpus of GROWTH) {
    const name = `growth-${gpus}`;
    if (!name.includes(only)) continue;
    for (const policy of KINDS) {
      const overrides = [`policy={ kind: ${policy} }`];
      const runs = Array.from({ length: rounds }, () => run({ name, trace: undefined, overrides }));
      const { requests, events, attainment, digest } = runs[0];
      const cpuUs = 1e6 * median(runs.map(({ cpuSeconds }) => cpuSeconds));
      onLine({
        ...{ case: name, gpus, policy, runs: rounds, requests },
        processedRps: Math.round(median(runs.map((one) => one.processedRps))),
        cpuUsPerRequest: Number((cpuUs / requests).toPrecision(3)),
        cpuUsPerEvent: Number((cpuUs / events).toPrecision(3)),
        peakRssMB: Math.round(median(runs.map((one) => one.peakRssBytes)) / 1e6),
        ...{ attainment, digest },
      });
    }
  }
}
