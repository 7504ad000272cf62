import { pino } from 'pino';
import { Registry } from 'prom-client';
import { monotonicNs } from '../../../../src/base/clock/clock.js';
import { unixMs } from '../../../../src/base/clock/wall-clock.js';
import { NS_PER_MS } from '../../../../src/base/units.js';
import { type Action, INFER } from '../../../../src/core/action.js';
import type { Outcome, RequestTable } from '../../../../src/core/request.js';
import { LocalLink } from '../../../../src/live/controller/link/local-link.js';
import type { Frontend } from '../../../../src/live/frontend/frontend.js';
import { newBudgetCounters } from '../../../../src/live/frontend/shared-counts.js';
import { openFrontendThreads } from '../../../../src/live/frontend/thread/frontend-threads.js';
import { StatisticsCollector } from '../../../../src/live/observe/model-statistics.js';
import { NameLabels } from '../../../../src/live/observe/telemetry/labels.js';
import { startMachine } from '../../../../src/live/worker/local-machine.js';
import { REAL_WORLD } from '../../../../src/live/world/real-world.js';
import { type LiveCluster, startCluster } from '../../../../src/serve/cluster.js';
import { ALL_MODELS } from '../../../../src/serve/deployment-options.js';
import { serverModels } from '../../../../src/serve/server-models.js';
import { metricsObserver } from '../../../../src/serve/server-observers.js';
import { simulatedModel } from '../../../../src/serve/simulated-models.js';
import { MODEL } from '../throughput/model.js';
import { FIRST_SLO_NS } from './load.js';

/** Enough that a request finds an idle one: then none waits but for the controller. */
const GPUS = 16;
const SPEC = {
  ...MODEL,
  weightsBytes: 1_000_000,
  pages: 1,
  loadNs: NS_PER_MS,
  batchSizes: [1, 2, 4, 8, 16],
  execNs: [1, 1, 1, 1, 1].map((ms) => ms * NS_PER_MS),
};
const POLICY = { kind: 'fifo', options: { maxBatch: 16, maxDelay: 0 } };

/** When a request went through the thread that schedules, on the monotonic clock, by number of the request. */
export class Passages {
  readonly arrivedNs: Float64Array;
  readonly sentNs: Float64Array;
  readonly ranNs: Float64Array;
  private readonly actionSentNs = new Map<number, number>();
  private readonly actionRanNs = new Map<number, number>();

  constructor(
    requests: number,
    private readonly originNs: number,
  ) {
    this.arrivedNs = new Float64Array(requests);
    this.sentNs = new Float64Array(requests);
    this.ranNs = new Float64Array(requests);
  }

  sent({ id, kind }: Action): void {
    if (kind === INFER) this.actionSentNs.set(id, monotonicNs());
  }

  ran({ id, kind }: Action): void {
    if (kind === INFER) this.actionRanNs.set(id, monotonicNs());
  }

  answered(requests: RequestTable, slot: number, _outcome: Outcome, action: Action | null): void {
    const request = requests.sloNs[slot] - FIRST_SLO_NS;
    if (action === null) return;
    this.arrivedNs[request] = this.originNs + requests.arrivalNs[slot];
    this.sentNs[request] = this.actionSentNs.get(action.id) ?? 0;
    this.ranNs[request] = this.actionRanNs.get(action.id) ?? 0;
  }

  completed(): void {}
}

/** A server in this process, as `serve` assembles it, whose GPUs take no time. */
export class WatchedServer {
  passages: Passages | null = null;

  private constructor(
    private readonly cluster: LiveCluster,
    readonly http: Frontend,
  ) {}

  static async start(): Promise<WatchedServer> {
    const machine = await startMachine({
      devices: Array.from({ length: GPUS }, () => ({ kind: 'simulated', timeScale: 0 })),
      models: [simulatedModel(SPEC, 0)],
      ...{ pages: 16, pageBytes: 1_000_000 },
    });
    const statistics = new StatisticsCollector(unixMs);
    const seen: { server: WatchedServer | null } = { server: null };
    const cluster = await startCluster(
      { links: [new LocalLink(machine)], policy: POLICY, sloNs: FIRST_SLO_NS, admission: 'none' },
      (assembly) => ({
        metrics: metricsObserver(new Registry(), assembly, []),
        statistics: {
          run: statistics,
          events: statistics,
          started: ({ state }) => statistics.began(state.entries),
        },
        share: {
          run: {
            answered: (requests, slot, outcome, _nowNs, _copies, action) =>
              seen.server?.passages?.answered(requests, slot, outcome, action),
            completed: () => {},
          },
          events: {
            sent: (action) => seen.server?.passages?.sent(action),
            ran: (action) => seen.server?.passages?.ran(action),
          },
        },
      }),
    );
    const { controller, assembly } = cluster;
    const given = {
      defaultSloNs: FIRST_SLO_NS,
      statistics,
      labels: new NameLabels(),
      time: REAL_WORLD.time,
    };
    const models = serverModels(controller, assembly.fleet, ALL_MODELS, pino({ level: 'silent' }), given);
    await models.start();
    const http = await openFrontendThreads(models.service, {
      transport: 'http',
      world: REAL_WORLD,
      threads: 1,
      frontend: { port: 0, defaultSloNs: FIRST_SLO_NS, serverVersion: 'bench' },
      counters: newBudgetCounters(1),
      firstSlot: 0,
      died: (reason) => {
        throw new Error(`the frontend ended: ${reason}`);
      },
    });
    seen.server = new WatchedServer(cluster, http);
    return seen.server;
  }

  /** From now on requests are numbered from 0. */
  watch(requests: number): Passages {
    this.passages = new Passages(requests, this.cluster.assembly.clock.originNs);
    return this.passages;
  }

  async stop(): Promise<void> {
    await this.http.close(false);
    await this.cluster.close();
  }
}
