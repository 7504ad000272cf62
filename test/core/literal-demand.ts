const IDLE_OUTSTANDING = 1_000_000;
const INITIAL_WEIGHT = 0.01;

/** The published load balancer's books, model by model, with nothing remembered but what its description names. */
export class LiteralDemand {
  readonly exec: number[];
  readonly load: number[];
  /** By model: GPUs that hold it, are loading it, or have chosen it. */
  readonly holders: Set<number>[];
  readonly outstanding: number[];
  readonly weight: number[];
  /** Models that were spread since the reader last emptied it. */
  readonly stale = new Set<number>();
  private readonly allocations: Map<number, number>[];
  private readonly changed = new Set<number>();
  /** What `refresh` will take in, by model: exec demand, load demand, slack of the last request. */
  private readonly news = new Map<number, { exec: number; load: number; slackNs: number }>();
  private readonly reviews: { readonly timeNs: number; readonly model: number }[] = [];

  constructor(
    gpus: number,
    models: number,
    private readonly capacity: number,
    /** Of a GPU for a model, relative to the fastest kind. */
    private readonly rateOn: (gpu: number, model: number) => number = () => 1,
  ) {
    const perModel = <T>(make: () => T): T[] => Array.from({ length: models }, make);
    this.exec = perModel(() => 0);
    this.load = perModel(() => 0);
    this.holders = perModel(() => new Set());
    this.allocations = perModel(() => new Map());
    this.outstanding = new Array<number>(gpus).fill(IDLE_OUTSTANDING);
    this.weight = new Array<number>(gpus).fill(INITIAL_WEIGHT);
  }

  arrived(model: number, exec: number, load: number, slackNs: number): void {
    this.change(model, exec, load);
    this.newsOf(model).slackNs = slackNs;
  }

  change(model: number, exec: number, load: number): void {
    const news = this.newsOf(model);
    news.exec += exec;
    news.load += load;
    this.changed.add(model);
  }

  moved(model: number, gpu: number, by: 1 | -1): void {
    if (by > 0) this.holders[model].add(gpu);
    else this.holders[model].delete(gpu);
    this.changed.add(model);
  }

  moveNow(model: number, gpu: number, by: 1 | -1): void {
    if (by > 0) this.holders[model].add(gpu);
    else this.holders[model].delete(gpu);
    this.spread(model);
  }

  hasDemand(model: number): boolean {
    return this.exec[model] > 0 || this.load[model] > 0;
  }

  refresh(nowNs: number): void {
    for (;;) {
      const firstNs = Math.min(...this.reviews.map(({ timeNs }) => timeNs));
      if (firstNs >= nowNs) break;
      const [{ model }] = this.reviews.splice(
        this.reviews.findIndex(({ timeNs }) => timeNs === firstNs),
        1,
      );
      this.spread(model);
    }
    for (const model of this.changed) {
      const { exec, load, slackNs } = this.newsOf(model);
      this.news.delete(model);
      this.exec[model] += exec;
      this.load[model] += load;
      this.spread(model);
      if (slackNs > 0) this.reviews.push({ timeNs: nowNs + slackNs, model });
    }
    this.changed.clear();
  }

  loadPriority(model: number): number {
    const demand = this.load[model];
    if (demand <= 0) return demand;
    const totalWeight = this.totalWeight(model);
    return this.sortedHolders(model).reduce((priority, gpu) => {
      const rate = this.rateOn(gpu, model);
      const ownTime = Math.floor((demand * ((this.weight[gpu] * rate) / totalWeight)) / rate);
      return priority - Math.floor((this.capacity * ownTime * rate) / this.outstanding[gpu]);
    }, demand);
  }

  private spread(model: number): void {
    this.stale.add(model);
    for (const [gpu, share] of this.allocations[model]) this.outstanding[gpu] -= share;
    this.allocations[model].clear();
    const totalWeight = this.totalWeight(model);
    for (const gpu of this.sortedHolders(model)) {
      const rate = this.rateOn(gpu, model);
      const share = Math.floor((this.exec[model] * ((this.weight[gpu] * rate) / totalWeight)) / rate);
      this.allocations[model].set(gpu, share);
      this.outstanding[gpu] += share;
      this.weight[gpu] = this.capacity / this.outstanding[gpu];
    }
  }

  private sortedHolders(model: number): number[] {
    return [...this.holders[model]].sort((a, b) => a - b);
  }

  private totalWeight(model: number): number {
    return this.sortedHolders(model).reduce(
      (sum, gpu) => sum + this.weight[gpu] * this.rateOn(gpu, model),
      0,
    );
  }

  private newsOf(model: number) {
    const news = this.news.get(model) ?? { exec: 0, load: 0, slackNs: 0 };
    this.news.set(model, news);
    return news;
  }
}
