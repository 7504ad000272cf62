import { invariant } from '../base/invariant.js';
import type { Fleet } from '../live/controller/fleet.js';
import type { LiveController } from '../live/controller/live-controller.js';
import type { ModelReference } from '../live/messages.js';
import type { ServedModel } from '../live/model.js';
import type { ModelList } from '../live/model-list.js';
import type { ModelHost } from './deployment-options.js';
import { mergeModelLists } from './merge-model-lists.js';

/** The models of a controller's workers, in this process or elsewhere. */
export class ClusterModels implements ModelHost {
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
