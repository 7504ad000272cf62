import { EscapementError } from '../../base/errors.js';
import type { SourceDocument } from '../../config/document.js';
import type { Experiment } from '../../config/experiment.js';
import type { Threshold } from '../../record/threshold.js';
import { listed } from '../../text/words.js';
import type { CellRunner } from '../sweep/pool.js';
import type { Over } from './over.js';
import type { Candidate, Plan, Tried } from './plan-result.js';
import type { Prober } from './prober.js';
import type { reachOf } from './reach.js';

/** Inputs common to plans and scenarios. */
export interface RunsRequest {
  readonly file: string;
  /** `--target` flags; all of them must hold. */
  readonly targets: readonly string[];
  /** `--seeds`. */
  readonly seeds: string;
  /** `--set` flags, for every run. */
  readonly overrides: readonly string[];
  /** Folder for finished runs, so that an interrupted plan can continue; undefined: not kept. */
  readonly outDir: string | undefined;
  readonly runner: CellRunner;
  /** Repeats the runs kept there. */
  readonly fresh: boolean;
  /** Version of the program: runs of another version are not reused. */
  readonly version: string;
  /** Called once, after all checks and before the first run, with the number of candidates. */
  readonly onStart: (seeds: readonly number[], candidates: number) => void;
  readonly onRun: (reused: boolean) => void;
}

/** Question of a plan. */
export interface Asked {
  /** `--set` flags, for every run. */
  readonly overrides: readonly string[];
  /** True: targets must also hold after the loss of any one GPU. */
  readonly survives: boolean;
  readonly source: SourceDocument;
  readonly targets: readonly Threshold[];
  readonly overs: readonly Over[];
}

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

export function usage(problem: string): EscapementError {
  return new EscapementError('E_USAGE', problem);
}
