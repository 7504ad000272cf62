import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import { EscapementError } from '../base/errors.js';
import { NS_PER_MS } from '../base/units.js';
import type { Timer } from '../base/world/time.js';
import type { ServerScaling } from '../config/scaled-cluster.js';
import type { Cluster } from '../core/cluster.js';
import type { ScalingDecision } from '../core/scaler.js';
import type { LiveController } from '../live/controller/live-controller.js';
import type { ScalingStatus } from '../live/observe/status/cluster-status.js';
import { registerNeededGpus } from '../live/observe/telemetry/controller-metrics.js';
import { Autoscaler, type KindFacts } from '../scalers/autoscaler.js';
import type { Assembly, ClusterObserver } from './cluster.js';

/** A scaled kind, and its latest decision. */
interface Asked {
  readonly facts: KindFacts;
  /** Index in the cluster. */
  readonly of: number;
  /** Number of GPUs wanted, and time until which absent ones count as starting. */
  gpus: number;
  untilNs: number;
}

/**
 * Asks the scaler how many GPUs of each kind a running cluster needs. It starts none: an external autoscaler reads the
 * metric.
 */
export class ScalingObserver implements ClusterObserver {
  readonly run: Autoscaler;
  private readonly asked: readonly Asked[];
  private readonly missing: readonly string[];
  private cluster: Cluster | null = null;
  private decision: ScalingDecision | null = null;
  private timer: Timer | null = null;

  /** Throws `E_CONFIG_VALUE` if no worker has GPUs of a kind to be scaled. */
  constructor(
    private readonly scaling: ServerScaling,
    private readonly assembly: Assembly,
    registry: Registry,
    private readonly log: Pick<Logger, 'info' | 'warn'>,
  ) {
    const found = findKinds(scaling.kinds, assembly.cluster.kinds);
    this.asked = found.filter(({ of }) => of >= 0);
    this.missing = found.filter(({ of }) => of < 0).map(({ facts }) => facts.name);
    const kinds = this.asked.map(({ facts }) => facts);
    this.run = new Autoscaler(scaling.create(), kinds, scaling.intervalNs);
    registerNeededGpus(registry, () => this.status());
  }

  started({ core }: LiveController): void {
    this.cluster = core.cluster;
    this.run.follow(
      core,
      this.asked.map(({ of }) => of),
    );
    if (this.missing.length > 0)
      this.log.warn(
        `no worker has GPUs of kind ${this.missing.join(', ')}, so none are requested: restart the controller when a worker of each kind is up (--min-workers)`,
      );
    const { time } = this.assembly.clock;
    this.timer = time.every(this.scaling.intervalNs / NS_PER_MS, () => this.decide(core.cluster)).unref();
  }

  async ended(): Promise<void> {
    this.timer?.cancel();
  }

  /** Null: no decision yet. */
  status(): ScalingStatus | null {
    const { cluster, decision } = this;
    if (cluster === null || decision === null) return null;
    return {
      gpus: this.asked.map(({ facts, of }, kind) => ({
        kind: facts.name,
        up: cluster.upOfKind[of],
        needed: decision.gpus[kind],
      })),
      reason: decision.reason,
    };
  }

  private decide(cluster: Cluster): void {
    const nowNs = this.assembly.clock.nowNs();
    const counts = this.asked.map(({ of, gpus, untilNs }) => {
      const on = cluster.upOfKind[of];
      return { on, starting: nowNs < untilNs ? Math.max(0, gpus - on) : 0, draining: 0 };
    });
    const decision = this.run.decide(counts, nowNs);
    for (const [kind, asked] of this.asked.entries()) {
      const { on, starting } = counts[kind];
      const needed = decision.gpus[kind];
      if (needed > on + starting) asked.untilNs = nowNs + asked.facts.startNs;
      asked.gpus = needed;
      if (this.decision?.gpus[kind] !== needed)
        this.log.info(
          { kind: asked.facts.name, gpus: on, needed, reason: decision.reason },
          'another number of GPUs is needed',
        );
    }
    this.decision = decision;
  }
}

/** Matches kinds by name; a single kind matches the workers' kind, whatever its name. */
function findKinds(listed: readonly KindFacts[], kinds: readonly string[]): Asked[] {
  const isPlain = listed.length === 1 && kinds.length === 1;
  const found = listed.map((facts) => ({
    facts,
    of: isPlain ? 0 : kinds.indexOf(facts.name),
    ...{ gpus: 0, untilNs: 0 },
  }));
  if (found.some(({ of }) => of >= 0)) return found;
  throw new EscapementError(
    'E_CONFIG_VALUE',
    `cluster.gpus: the scaler is for GPUs of kind ${listed.map(({ name }) => name).join(', ')}, and the workers have ${kinds.join(', ')}: name those of the workers (--kind of worker)`,
  );
}
