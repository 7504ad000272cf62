import type { Logger } from 'pino';
import { invariant } from '../base/invariant.js';
import type { Time } from '../base/world/time.js';
import type { Fleet } from '../live/controller/fleet.js';
import type { LiveController } from '../live/controller/live-controller.js';
import type { ModelReference } from '../live/messages.js';
import type { ServedModel } from '../live/model.js';
import type { ModelList } from '../live/model-list.js';
import type { StatisticsCollector } from '../live/observe/model-statistics.js';
import type { NameLabels } from '../live/observe/telemetry/labels.js';
import type { WatchedService } from '../live/service.js';
import { DeployedService } from './deployed-service.js';
import type { DeploymentOptions, ModelHost } from './deployment-options.js';
import { mergeModelLists } from './merge-model-lists.js';
import { slowModelsWarning } from './slow-models.js';

/** Models of a server: those of its workers' repositories, which are added one by one. */
export interface ServerModels {
  readonly service: WatchedService;
  /** Resolves when all models configured for the start are loaded, as far as possible. */
  start(): Promise<void>;
  close(): void;
}

interface Given {
  readonly defaultSloNs: number;
  readonly statistics: StatisticsCollector;
  /** Labels of the models in metrics. */
  readonly labels: NameLabels;
  readonly time: Time;
}

export function serverModels(
  controller: LiveController,
  fleet: Fleet,
  options: DeploymentOptions,
  log: Logger,
  { defaultSloNs, statistics, labels, time }: Given,
): ServerModels {
  const host = new ClusterModels(controller, fleet);
  const read: StatisticsCollector['read'] = (entries) => statistics.read(entries);
  const service = new DeployedService(controller, host, options, log, read, labels, time);
  service.watch(() => statistics.listed(service.state.entries));
  fleet.workerCameUp = () => service.workersCame();
  return {
    service,
    start: async () => {
      await service.start();
      warnOfSlow(service, log, defaultSloNs);
    },
    close: () => service.close(),
  };
}

function warnOfSlow({ state }: WatchedService, log: Logger, defaultSloNs: number): void {
  const timed = state.entries.flatMap(({ model }) =>
    model === null
      ? []
      : [{ name: model.spec.name, execNs: model.spec.execNs[0], sloNs: model.sloNs ?? defaultSloNs }],
  );
  const slow = slowModelsWarning(timed);
  if (slow !== null) log.warn(slow);
}

/** Models of a controller's workers, in this process or elsewhere. */
class ClusterModels implements ModelHost {
  constructor(
    private readonly controller: LiveController,
    private readonly fleet: Fleet,
  ) {}

  get away(): readonly string[] {
    return this.fleet.away;
  }

  get isOpen(): boolean {
    return this.fleet.isOpen;
  }

  untilUp(): Promise<void> {
    return this.fleet.untilUp();
  }

  async list(name: string | null): Promise<ModelList> {
    return mergeModelLists(await this.fleet.models.list(name));
  }

  async addModel(reference: ModelReference): Promise<{ index: number; model: ServedModel }> {
    const index = await this.controller.addModel(reference);
    const model = this.controller.modelAt(index);
    invariant(model !== null, 'a model that was added is there');
    return { index, model };
  }

  retireModel(index: number): Promise<void> {
    return this.controller.retireModel(index);
  }
}
