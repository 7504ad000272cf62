import { join } from 'node:path';
import type { Experiment } from '../config/experiment.js';
import type { RunObserver } from '../core/observer.js';
import { ActionLog, FleetLog, type LogFile, RequestLog } from '../record/logs.js';
import type { ScheduledRun } from '../record/results.js';
import { writeTimeline } from '../record/timeline-file.js';
import type { Collector } from './collector.js';

/** Logs and timeline requested by an experiment, in an existing folder. */
export class RunLogs {
  /** Must observe the run after the collector. */
  readonly observers: readonly (LogFile & RunObserver)[];
  /** Logs GPUs that come and go; null: none do, or there is no log of actions. */
  readonly fleet: FleetLog | null;
  private readonly files: readonly LogFile[];

  constructor(
    private readonly experiment: Experiment,
    private readonly outDir: string,
    private readonly collector: Collector,
  ) {
    const { output, models, pipelines, cluster, classes, tenants } = experiment;
    const senders = [classes.length > 0, tenants.list.length > 0, pipelines.length > 0] as const;
    const { causes } = collector;
    const { requestLog, actionLog } = output;
    this.observers = [
      ...(requestLog ? [new RequestLog(join(outDir, 'requests.tsv'), models, causes, ...senders)] : []),
      ...(actionLog ? [new ActionLog(join(outDir, 'actions.tsv'), cluster, models)] : []),
    ];
    this.fleet =
      collector.fleet !== null && actionLog ? new FleetLog(join(outDir, 'gpus.tsv'), cluster) : null;
    this.files = [...this.observers, ...(this.fleet === null ? [] : [this.fleet])];
  }

  /** Ends a successful run: gives the logs their names. Throws `E_FILE_WRITE`. */
  close(): void {
    for (const log of this.files) log.close();
  }

  /** Writes each closed log again as Parquet, if the experiment asks for it. Throws `E_FILE_WRITE`. */
  async writeParquet(): Promise<void> {
    if (!this.experiment.output.parquet) return;
    const { writeParquet } = await import('../record/parquet.js');
    for (const log of this.files) await writeParquet(log);
  }

  /** Throws `E_FILE_WRITE`. */
  writeTimeline({ summary, timeline }: ScheduledRun): void {
    const { experiment, outDir, collector } = this;
    if (experiment.output.timeline === null) return;
    const facts = { seed: experiment.seed, digest: summary.digest, actionsLeftOut: collector.actionsLeftOut };
    writeTimeline(join(outDir, 'timeline.json'), timeline, facts);
  }

  /** Ends a failed run: removes the logs. */
  discard(): void {
    for (const log of this.files) log.discard();
  }
}
