import type { Random } from '../../src/base/random/streams.js';
import type { ArrivalSource } from '../../src/core/arrivals.js';
import type { ModelSpec } from '../../src/core/model.js';
import type { Simulator } from '../../src/sim/index.js';
import type { Arrival } from '../sim/fixtures.js';

/** One thing that an operator does: before the arrival with this number, a model comes or goes. */
export interface Change {
  readonly before: number;
  readonly spec: ModelSpec | null;
  /** GPUs whose workers do not have the one that comes. */
  readonly absent?: readonly number[];
}

/**
 * Arrivals, and an operator who changes the models between them: some model of those that serve is retired, or a new one is
 * put into the first empty slot. A request is for one of the models that serve; while there is none it is left out.
 */
export class ChangingSource implements ArrivalSource {
  timeNs = Number.POSITIVE_INFINITY;
  model = 0;
  sloNs = 0;
  user = 0;
  simulator!: Simulator;
  /** What was done: the slot, and whether a model came. */
  readonly done: { readonly model: number; readonly came: boolean }[] = [];
  private next = -1;
  private nextChange = 0;

  constructor(
    private readonly arrivals: readonly Arrival[],
    private readonly changes: readonly Change[],
    private readonly random: Random,
  ) {
    this.timeNs = arrivals[0]?.timeNs ?? Number.POSITIVE_INFINITY;
  }

  /** Call when the simulator is there. */
  begin(simulator: Simulator): void {
    this.simulator = simulator;
    this.advance();
  }

  advance(): void {
    for (;;) {
      this.next++;
      const arrival = this.arrivals[this.next];
      while (this.changes[this.nextChange]?.before <= this.next) this.change(this.changes[this.nextChange++]);
      const serving = this.serving();
      if (arrival !== undefined && serving.length === 0) continue;
      this.user = this.next;
      this.timeNs = arrival?.timeNs ?? Number.POSITIVE_INFINITY;
      this.model = serving[(arrival?.model ?? 0) % Math.max(1, serving.length)] ?? 0;
      this.sloNs = arrival?.sloNs ?? 0;
      return;
    }
  }

  private serving(): number[] {
    const { controller } = this.simulator;
    return controller.cluster.models.flatMap((_, model) => (controller.isServing(model) ? [model] : []));
  }

  private change({ spec, absent = [] }: Change): void {
    const { controller } = this.simulator;
    const slot = controller.emptySlot;
    const serving = this.serving();
    if (spec !== null && slot < 0) controller.grow(controller.cluster.models.length + 2);
    else if (spec !== null) {
      this.simulator.putModel(slot, spec);
      controller.setAbsent(slot, absent);
      this.done.push({ model: slot, came: true });
    } else if (serving.length > 0) {
      const model = serving[Math.floor(this.random() * serving.length)];
      controller.retireModel(model);
      this.done.push({ model, came: false });
    }
  }
}
