import { NS_PER_S } from '../../base/units.js';
import type { Cluster } from '../../core/cluster.js';
import type { RequestTable } from '../../core/request.js';
import type { DeadlineQueue } from '../common/deadline-queue.js';
import type { Durations } from './durations.js';
import type { Waiting } from './waiting.js';

/** Wait after which a request precedes any that is only expected. */
const OVERDUE_NS = NS_PER_S;

/** Models with requests that have waited for a long time, which requires a long SLO. */
export class Overdue {
  constructor(
    private readonly cluster: Cluster,
    private readonly requests: RequestTable,
    private readonly durations: Durations,
    private readonly waiting: Waiting,
  ) {}

  /** True if the model, which no GPU holds, has such a request that is in time if the LOAD begins now. */
  has(model: number, nowNs: number): boolean {
    const { waiting } = this;
    // NaN if SLOs differ.
    if (waiting.count[model] === 0 || waiting.sloNs[model] < OVERDUE_NS) return false;
    const readyNs = nowNs + this.cluster.loadNs(model) + this.durations.shortestNs(model);
    for (let line = 0; line < waiting.lineCount[model]; line++)
      for (let c = 0; c < waiting.classes; c++)
        if (this.isIn(waiting.queue(model, line, c), readyNs, nowNs)) return true;
    return false;
  }

  private isIn(queue: DeadlineQueue, readyNs: number, nowNs: number): boolean {
    const { arrivalNs } = this.requests;
    for (let i = queue.firstFrom(readyNs); i < queue.length; i++)
      if (nowNs - arrivalNs[queue.slotAt(i)] >= OVERDUE_NS) return true;
    return false;
  }
}
