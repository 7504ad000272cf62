import type { ServedModel } from '../../src/live/model.js';
import { type ModelList, type ModelReference, NO_MODELS } from '../../src/live/model-list.js';
import { ModelLabels } from '../../src/live/observe/telemetry/labels.js';
import type { InferenceRequest, SchedulingService, ServiceState } from '../../src/live/service.js';
import {
  ALL_MODELS,
  type DeploymentEvents,
  type DeploymentOptions,
  type ModelHost,
} from '../../src/serve/deployment-options.js';
import { ModelService } from '../../src/serve/model-service.js';

/** A host without models whose workers are up; tests override what they are about. */
export class FakeModelHost implements ModelHost, SchedulingService {
  state: ServiceState = { notReady: null, entries: [] };
  away: readonly string[] = [];
  readonly isOpen: boolean = false;

  async untilUp(): Promise<void> {}
  takeOver(): void {}
  async list(_name: string | null, _config?: string): Promise<ModelList> {
    return NO_MODELS;
  }
  async addModel(_reference: ModelReference): Promise<{ index: number; model: ServedModel }> {
    throw new Error('no worker has it');
  }
  async spread(): Promise<void> {}
  putPipeline(): number {
    return -1;
  }
  async retireModel(_index: number): Promise<void> {}
  infer(_request: InferenceRequest): void {}
  nowNs(): number {
    return 0;
  }
  watch(_changed: () => void): () => void {
    return () => {};
  }
}

const SILENT: DeploymentEvents = { info: () => {}, warn: () => {} };

/** A service of the models of a host. */
export function serviceOf(
  host: FakeModelHost,
  options: Partial<DeploymentOptions> = {},
  events = SILENT,
): ModelService {
  const service = new ModelService({ ...ALL_MODELS, ...options }, events, new ModelLabels(), () =>
    host.nowNs(),
  );
  service.attach(host, host, { read: () => [], listed: () => {} });
  return service;
}
