import type { Estimate } from '../../report/statistics.js';
import type { BatchRoom } from './batch-room.js';
import type { Protocol } from './child/messages.js';
import type { Service } from './stage.js';

/** What the stages of one run showed, and what the rules need to know of the machine. */
export interface Findings {
  readonly io: MeasuredStage;
  readonly synthetic: Estimate;
  readonly full: MeasuredStage;
  readonly batch: BatchRoom;
  readonly provider: string;
  /** Processors of the machine. */
  readonly cores: number;
  readonly intraOpThreads: number;
  readonly precision: string;
  readonly protocol: Protocol;
  /** Whether the SLO is the user's. */
  readonly sloIsGiven: boolean;
}

export interface MeasuredStage {
  readonly throughputRps: Estimate;
  readonly service: Service;
  /** Processors that were at work for others meanwhile. */
  readonly otherCores: number;
}
