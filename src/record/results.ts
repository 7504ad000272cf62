import type * as z from 'zod';
import type { Immutable } from '../base/immutable.js';
import type * as run from './schema.js';
import type * as summary from './schema-summary.js';

/*
 * Types of results of runs and sweeps. The schemas document each field; `escapement schema` prints them.
 */

type Of<Schema extends z.ZodType> = Immutable<z.output<Schema>>;

export interface Summary extends Of<typeof summary.summarySchema> {}
export interface SchedulerFigures extends Of<typeof summary.schedulerFiguresSchema> {}
/** Summary of a run whose scheduler was observed: simulated or live. */
export type ScheduledSummary = Summary & SchedulerFigures;
export type RunKind = Summary['kind'];

export interface RequestCounts extends Of<typeof summary.requestCountsSchema> {}
export interface CostFigures extends Of<typeof summary.costFiguresSchema> {}
export interface ScalingFigures extends Of<typeof summary.scalingFiguresSchema> {}
export interface PolicyNote extends Of<typeof summary.policyNoteSchema> {}
export interface WeightedFigures extends Of<z.ZodObject<typeof summary.weightedShape>> {}
export interface ActionCounts extends Of<typeof summary.actionCountsSchema> {}
export interface RequestFigures extends Of<typeof summary.requestFiguresSchema> {}
export interface RunParts extends Of<typeof summary.runPartsSchema> {}
export interface ModelFigures extends Of<typeof summary.modelFiguresSchema> {}
export interface LatencyMs extends Of<typeof summary.latencyMsSchema> {}
export interface PercentileMs extends Of<typeof summary.percentileMsSchema> {}
export interface LatencyCdf extends Of<typeof summary.latencyCdfSchema> {}

export interface ModelFairness extends Of<z.ZodObject<typeof summary.modelFairnessShape>> {}

export interface RunOrigin extends Of<typeof summary.originSchema> {}
export interface AnswerCount extends Of<typeof summary.answerCountSchema> {}
export interface Unanswered extends Of<typeof summary.unansweredSchema> {}
export interface GeneratorFigures extends Of<typeof summary.generatorSchema> {}
export interface RetryFigures extends Of<typeof summary.retryFiguresSchema> {}
export interface LatenessMs extends Of<typeof summary.latenessMsSchema> {}
export interface RunSetup extends Of<typeof summary.setupSchema> {}

export interface RunWindow extends Of<typeof run.runWindowSchema> {}
export interface RunEvent extends Of<typeof run.runEventSchema> {}
export interface RunSlices extends Of<typeof run.runSlicesSchema> {}
export interface TunedSeries extends Of<typeof run.tunedSeriesSchema> {}
export interface FleetOverTime extends Of<typeof run.fleetSchema> {}
export interface TimelineEntry extends Of<typeof run.timelineEntrySchema> {}
export interface WorstMoment extends Of<typeof run.worstMomentSchema> {}
export interface RunResult extends Of<typeof run.runResultSchema> {}
/** A run whose scheduler was observed: simulated or live. */
export type ScheduledRun = RunResult & { readonly summary: ScheduledSummary };

/** Part of a run that charts draw, alone or within a sweep. */
export type DrawnRun = Omit<RunResult, 'summary' | 'experiment' | 'overrides' | 'origin' | 'setup'> & {
  readonly summary: Omit<Summary, 'wall'>;
};

export interface BoundFigures extends Of<typeof run.boundFiguresSchema> {}
export interface CellResult extends Of<typeof run.cellResultSchema> {}
export interface VariedKey extends Of<typeof run.variedKeySchema> {}
export interface FinishedCell extends Of<typeof run.finishedCellSchema> {}
export interface FailedCell extends Of<typeof run.failedCellSchema> {}
export type SweepCell = FinishedCell | FailedCell;
export interface SweepResults extends Of<typeof run.sweepResultsSchema> {}
