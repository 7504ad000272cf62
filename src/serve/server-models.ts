import type { Logger } from 'pino';
import type { LiveController } from '../live/controller/live-controller.js';
import type { Precision } from '../live/models/precision.js';
import type { WatchedService } from '../live/service.js';
import { DeployedService } from './deployed-service.js';
import type { DeploymentOptions } from './deployment-options.js';
import type { PrepareOptions } from './prepare-model.js';
import { LocalModelHost, type PreparedModels } from './prepared-models.js';
import { Preparer } from './preparer.js';
import { slowModelsWarning } from './slow-models.js';
import { WorkersService } from './workers-service.js';

/** Which models a server runs, and how they get there. */
export interface DeploymentPlan extends DeploymentOptions {
  readonly precision: Precision;
  readonly prepare: PrepareOptions;
  /** Where the worker finds them: the same as the machine's source. */
  readonly prepared: PreparedModels;
}

/** The models of a server: those that its workers came with, or those of a repository, which come one by one. */
export interface ServerModels {
  readonly service: WatchedService;
  /** Resolves when all models that are to be there from the start are, as far as they can be. */
  start(): Promise<void>;
  close(): Promise<void>;
}

export function serverModels(
  controller: LiveController,
  plan: DeploymentPlan | 'workers' | null,
  log: Logger,
  defaultSloNs: number,
): ServerModels {
  const warn = (service: WatchedService) => warnOfSlow(service, log, defaultSloNs);
  if (plan === null) {
    return { service: controller, start: async () => warn(controller), close: async () => {} };
  }
  if (plan === 'workers') {
    const workers = new WorkersService(controller, log);
    return { service: workers, start: async () => warn(workers), close: async () => workers.close() };
  }
  let service: DeployedService | null = null;
  const say = (what: string) => {
    log.info(what);
    // Up to its reason.
    if (what.startsWith('measuring ')) service?.setDoing(what.split(':')[0]);
  };
  const preparer = new Preparer(plan.dir, plan.precision, plan.prepare, say);
  const host = new LocalModelHost(controller, plan.prepared);
  const deployed = new DeployedService(controller, host, preparer, plan, log);
  service = deployed;
  return {
    service: deployed,
    start: async () => {
      await deployed.start();
      warn(deployed);
    },
    close: () => deployed.close(),
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
