import type { Experiment } from '../../config/experiment.js';
import { listed } from '../../text/words.js';
import type { Candidate, Plan, Tried } from './plan-result.js';
import type { Asked, Prober } from './prober.js';
import type { reachOf } from './reach.js';

/** Candidates of a plan, and how to find the best of them. */
export interface SearchSpace {
  readonly size: number;
  /** Distance of neighbors, for people; empty: they have none. */
  readonly resolution: string;
  /** Candidates that show whether the experiment can run at all. */
  readonly ends: readonly Candidate[];
  /** `reach`: as of `reachOf`; `ends`: experiments of the ends. */
  find(prober: Prober, reach: ReturnType<typeof reachOf>, ends: readonly Experiment[]): Promise<FoundBest>;
}

interface FoundBest extends Pick<Plan, 'outcome' | 'headline' | 'notes' | 'tried'> {
  readonly confidence?: Plan['confidence'];
  readonly answer: Tried | null;
  readonly before: Tried | null;
  readonly ruledOut: number;
  readonly spared: number;
}

/** Targets in words. */
export function wantedText({ targets, survives }: Pick<Asked, 'targets' | 'survives'>): string {
  return `${listed(targets.map(({ text }) => text))}${survives ? ' even if any one GPU is lost' : ''}`;
}
