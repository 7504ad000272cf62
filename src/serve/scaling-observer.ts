import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import { NS_PER_MS } from '../base/units.js';
import type { Timer } from '../base/world/time.js';
import type { ServerScaling } from '../config/server-scaling.js';
import type { ScalingDecision } from '../core/scaler.js';
import type { LiveController } from '../live/controller/live-controller.js';
import { registerNeededGpus } from '../live/observe/telemetry/scaling-gauges.js';
import { Autoscaler } from '../scalers/autoscaler.js';
import type { Assembly, ClusterObserver } from './cluster.js';

/** Asks the scaler how many GPUs a running cluster needs. It starts none: what does reads the metric. */
export class ScalingObserver implements ClusterObserver {
  readonly run: Autoscaler;
  private decision: ScalingDecision | null = null;
  /** GPUs that are wanted beyond those that were there, and until when they count as starting. */
  private expected = 0;
  private expectedUntilNs = 0;
  private timer: Timer | null = null;

  constructor(
    private readonly scaling: ServerScaling,
    private readonly assembly: Assembly,
    registry: Registry,
    private readonly log: Pick<Logger, 'info'>,
  ) {
    this.run = new Autoscaler(scaling.create(), scaling.kinds, scaling.intervalNs);
    registerNeededGpus(registry, () => this.needed());
  }

  started(controller: LiveController): void {
    this.run.follow(controller.core);
    const { time } = this.assembly.clock;
    this.timer = time.every(this.scaling.intervalNs / NS_PER_MS, () => this.decide(controller)).unref();
  }

  async ended(): Promise<void> {
    this.timer?.cancel();
  }

  private decide({ core: { cluster } }: LiveController): void {
    const nowNs = this.assembly.clock.nowNs();
    const on = cluster.up.count;
    const starting = nowNs < this.expectedUntilNs ? Math.max(0, this.expected - on) : 0;
    const decision = this.run.decide([{ on, starting, draining: 0 }], nowNs);
    const [gpus] = decision.gpus;
    if (gpus > on + starting) this.expectedUntilNs = nowNs + this.scaling.kinds[0].startNs;
    this.expected = gpus;
    if (this.decision?.gpus[0] !== gpus)
      this.log.info({ gpus: on, needed: gpus, reason: decision.reason }, 'needs another number of GPUs');
    this.decision = decision;
  }

  private needed() {
    const { decision } = this;
    if (decision === null) return null;
    const kinds = this.scaling.kinds.map(({ name }, kind) => ({ name, gpus: decision.gpus[kind] }));
    return { kinds, reason: decision.reason };
  }
}
