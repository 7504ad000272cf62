import { createHash } from 'node:crypto';
import type { CellResult, SweepResults, VariedKey } from '../../../src/record/results.js';
import { cellFixture, gridFixture } from '../fixtures.js';

export interface RunFigures {
  readonly goodputRps: number;
  readonly offeredRps?: number;
  readonly boundRps?: number;
  readonly loads?: number;
  readonly worstModel?: number;
  readonly by?: Partial<CellResult['summary']['by']>;
  /** What it decided, in any words: runs with equal ones have equal digests. Absent: something of its own. */
  readonly decisions?: string;
}

export interface PolicySweep {
  readonly vary: readonly VariedKey[];
  readonly seeds?: readonly number[];
  readonly failed?: readonly string[];
  run(values: Readonly<Record<string, string>>, seed: number): RunFigures;
}

/** A sweep over policies with exactly these figures; each run is of the policy that `policy.kind` says. */
export function policySweep({ vary, seeds = [1, 2, 3], failed = [], run }: PolicySweep): SweepResults {
  const results = gridFixture({
    vary,
    seeds,
    failed,
    run: (values, seed) => runOf(values['policy.kind'] ?? 'clockwork', run(values, seed), values, seed),
  });
  return { ...results, name: 'policies' };
}

function runOf(
  policy: string,
  figures: RunFigures,
  values: Readonly<Record<string, string>>,
  seed: number,
): CellResult {
  const { goodputRps, offeredRps = 1000, boundRps, loads = 20, worstModel, by } = figures;
  const cell = cellFixture({ sloMs: 100, goodputRps: 500 });
  return {
    ...cell,
    summary: {
      ...cell.summary,
      policy,
      seed,
      digest: digestOf(figures.decisions ?? JSON.stringify([figures, values, seed])),
      goodputRps,
      offeredRps,
      attainment: goodputRps / offeredRps,
      worstModel: worstModel === undefined ? null : { name: 'worst', attainment: worstModel, offered: 100 },
      actions: { ...cell.summary.actions, load: loads },
      by: { model: [], ...by },
    },
    ...(boundRps === undefined
      ? {}
      : {
          bound: {
            offeredRps,
            fluidRps: boundRps,
            windowLimitedRps: boundRps,
            pricedRps: boundRps,
            timePricedRps: boundRps,
            bestRps: boundRps,
          },
        }),
  };
}

function digestOf(decisions: string): string {
  return createHash('sha256').update(decisions).digest('hex').slice(0, 16);
}

/** Three policies, two SLOs, two loads, two settings: ours loses one cell. Goodput of a seed moves all alike. */
export function matrixFixture(): SweepResults {
  const level: Readonly<Record<string, number>> = { clockwork: 0.9, fifo: 0.5, escapement: 0.95 };
  return policySweep({
    vary: [
      { key: 'setting', values: ['one GPU', 'four GPUs'] },
      { key: 'policy.kind', values: ['clockwork', 'fifo', 'escapement'] },
      { key: 'slo', values: ['25ms', '100ms'] },
      { key: 'workload.load', values: ['0.8', '1.5'] },
    ],
    run: (values, seed) => {
      const kind = values['policy.kind']!;
      const lost = kind === 'escapement' && values.slo === '25ms' && values['workload.load'] === '1.5';
      const share = (lost && values.setting === 'one GPU' ? 0.85 : level[kind]!) + 0.01 * seed;
      return {
        goodputRps: 800 * share,
        boundRps: 800,
        loads: kind === 'escapement' ? 2 : 20,
        worstModel: kind === 'fifo' ? 0.1 : 0.6,
      };
    },
  });
}
