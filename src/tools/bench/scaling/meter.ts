import { type Action, INFER, LOAD, STATUS_OK } from '../../../core/action.js';
import type { ModelSpec } from '../../../core/model.js';
import type { RunObserver } from '../../../core/observer.js';
import { Histogram } from '../../../record/histogram.js';
import { UsageMeter } from '../child/usage-meter.js';
import { threadWaitNs } from './thread-wait.js';
import type { Trial } from './trial.js';

/** Measures what controller and GPUs do from `begin` to `end`, over and over. */
export class Meter implements RunObserver {
  private readonly usage = new UsageMeter();
  private beginNs = 0;
  private beginWaitNs: number | null = null;
  private failed = 0;
  private infers = 0;
  private loads = 0;
  private readonly busyNs: Float64Array;
  private profileNs = 0;
  private stepNs = 0;
  private resultDelay = new Histogram();

  constructor(
    gpus: number,
    private readonly models: readonly ModelSpec[],
  ) {
    this.busyNs = new Float64Array(gpus);
  }

  begin(nowNs: number): void {
    this.usage.take();
    this.beginNs = nowNs;
    this.beginWaitNs = threadWaitNs();
    this.failed = 0;
    this.infers = 0;
    this.loads = 0;
    this.busyNs.fill(0);
    this.profileNs = 0;
    this.stepNs = 0;
    this.resultDelay = new Histogram();
  }

  end(nowNs: number, requests: number): Trial {
    const { busy, cores } = this.usage.take();
    const waitNs = threadWaitNs();
    return {
      tookNs: nowNs - this.beginNs,
      requests,
      failed: this.failed,
      infers: this.infers,
      loads: this.loads,
      busyNs: [...this.busyNs],
      profileNs: this.profileNs,
      stepNs: this.stepNs,
      loopBusy: busy,
      waitNs: waitNs === null || this.beginWaitNs === null ? null : waitNs - this.beginWaitNs,
      cores,
      resultDelayP99Ns: this.resultDelay.percentile(99),
    };
  }

  /** A request had no result. Returns how many had none so far. */
  fail(): number {
    return ++this.failed;
  }

  stepped(_nowNs: number, tookNs: number): void {
    this.stepNs += tookNs;
  }

  answered(): void {
    // The share of the clients is reported by the clients.
  }

  completed(action: Action, nowNs: number): void {
    const { kind, status, gpu, model, batchIndex, beginNs, endNs } = action;
    if (status !== STATUS_OK) return;
    if (kind === LOAD) this.loads++;
    if (kind !== INFER) return;
    this.infers++;
    this.busyNs[gpu] += endNs - beginNs;
    this.profileNs += this.models[model].execNs[batchIndex];
    this.resultDelay.record(Math.max(0, nowNs - endNs));
  }
}
