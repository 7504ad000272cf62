import { GROWTH } from './cases.js';
import { median, type Run, type RunChoice, runInChild } from './child.js';

/** The published scheduler, this project's own, and one that hardly decides anything. */
const KINDS = ['clockwork', 'escapement', 'fifo'];

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
  readonly peakRssMB: number;
  readonly attainment: number | null;
  readonly digest: string;
}

/** Runs some policies under the same load per GPU on more and more GPUs, each run in a process of its own. */
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
      const { requests, attainment, digest } = runs[0];
      const cpuUs = median(runs.map(({ cpuSeconds }) => (1e6 * cpuSeconds) / requests));
      onLine({
        ...{ case: name, gpus, policy, runs: rounds, requests },
        processedRps: Math.round(median(runs.map((one) => one.processedRps))),
        cpuUsPerRequest: Number(cpuUs.toPrecision(3)),
        peakRssMB: Math.round(median(runs.map((one) => one.peakRssBytes)) / 1e6),
        ...{ attainment, digest },
      });
    }
  }
}
