import type { Cluster } from '../../core/cluster.js';
import type { CopyWorth } from './copy-worth.js';

/** Models whose next copy would be worth most per time of its LOAD, best first. */
export class LoadRanking {
  length = 0;
  private most = 0;
  private readonly models: Int32Array;
  private readonly perTime: Float64Array;

  constructor(
    private readonly cluster: Cluster,
    private readonly copyWorth: CopyWorth,
    /** So many more than there are GPUs are listed. */
    private readonly more: number,
  ) {
    const most = Math.min(cluster.models.length, cluster.gpus + more);
    this.models = new Int32Array(most);
    this.perTime = new Float64Array(most);
  }

  at(index: number): number {
    return this.models[index];
  }

  /** Lists the best of all models that some GPU lacks. */
  renew(nowNs: number): void {
    const { cluster } = this;
    const most = Math.min(cluster.models.length, cluster.up.count + this.more);
    this.most = most;
    this.length = 0;
    for (let model = 0; model < cluster.models.length; model++) {
      if (cluster.held.count(model) === cluster.up.count) continue;
      const perTime = this.copyWorth.toLoad(model, nowNs) / cluster.loadNs(model);
      if (perTime > 0 && (this.length < most || perTime > this.perTime[most - 1]))
        this.insert(model, perTime);
    }
  }

  remove(index: number): void {
    this.length--;
    this.models.copyWithin(index, index + 1, this.length + 1);
    this.perTime.copyWithin(index, index + 1, this.length + 1);
  }

  private insert(model: number, perTime: number): void {
    const { models } = this;
    let at = this.length < this.most ? this.length++ : this.most - 1;
    for (; at > 0 && this.perTime[at - 1] < perTime; at--) {
      models[at] = models[at - 1];
      this.perTime[at] = this.perTime[at - 1];
    }
    models[at] = model;
    this.perTime[at] = perTime;
  }
}
