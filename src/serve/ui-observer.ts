import type { LiveController } from '../live/controller/live-controller.js';
import type { ClusterStatus } from '../live/observe/status/cluster-status.js';
import type { Route } from '../live/observe/telemetry/route.js';
import { LivePage } from '../live/observe/ui/live-page.js';
import { RecentActivity } from '../live/observe/ui/recent-activity.js';
import type { Assembly, ClusterObserver } from './cluster.js';

/** The live page of a server. */
export class UiObserver implements ClusterObserver {
  readonly run = new RecentActivity();
  readonly events = {
    modelCame: () => this.page?.modelsChanged(),
    modelGone: () => this.page?.modelsChanged(),
  };
  private page: LivePage | null = null;

  constructor(private readonly assembly: Assembly) {}

  started({ core }: LiveController): void {
    this.run.watch(core);
  }

  /** `status` is asked while a page looks. */
  routes(controller: LiveController, status: () => ClusterStatus): readonly Route[] {
    this.page ??= new LivePage({
      activity: this.run,
      cluster: controller.core.cluster,
      time: this.assembly.clock.time,
      nowNs: () => controller.nowNs(),
      status,
    });
    return this.page.routes;
  }

  async ended(): Promise<void> {
    this.page?.close();
  }
}
