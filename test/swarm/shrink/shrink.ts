import type { Scenario } from '../scenario/scenario.js';
import { ddmin } from './ddmin.js';
import { simplifications } from './simplify.js';
import { withoutController, withoutMachine, withoutModel } from './without.js';

export interface ShrinkOptions {
  /** Whether a scenario fails as the first one does. */
  readonly fails: (scenario: Scenario) => Promise<boolean>;
  /** Of `fails`; what was found by then is the result. */
  readonly mostRuns: number;
  /** It got smaller. */
  readonly progress?: (scenario: Scenario, runs: number) => void;
}

/** A smaller scenario that still fails: fewer faults first, then fewer clients and machines, then simpler numbers. */
export async function shrink(scenario: Scenario, options: ShrinkOptions): Promise<Scenario> {
  const shrinker = new Shrinker(scenario, options);
  await shrinker.run();
  return shrinker.smallest;
}

class Shrinker {
  private runs = 0;
  /** Text of the scenarios that were tried. */
  private readonly tried = new Set<string>();

  constructor(
    public smallest: Scenario,
    private readonly options: ShrinkOptions,
  ) {}

  /** Again and again: with fewer faults, a smaller cluster may do. */
  async run(): Promise<void> {
    let before: Scenario;
    do {
      before = this.smallest;
      await this.reduceFaults();
      await this.reduceWorkload('changes');
      await this.reduceWorkload('clients');
      await this.dropEach((s) => s.cluster.machines, withoutMachine);
      await this.dropEach((s) => s.cluster.controllers, withoutController);
      await this.dropEach((s) => s.cluster.models, withoutModel);
      await this.simplify();
    } while (this.smallest !== before && !this.isOver);
  }

  private get isOver(): boolean {
    return this.runs >= this.options.mostRuns;
  }

  private async reduceFaults(): Promise<void> {
    const from = this.smallest;
    await ddmin(from.faults, (faults) => this.accept({ ...from, faults }));
  }

  private async reduceWorkload(list: 'changes' | 'clients'): Promise<void> {
    const from = this.smallest;
    const { workload } = from;
    await ddmin<unknown>(workload[list], (part) =>
      this.accept({ ...from, workload: { ...workload, [list]: part } } as Scenario),
    );
  }

  private async dropEach(
    list: (scenario: Scenario) => readonly { readonly name: string }[],
    without: (scenario: Scenario, name: string) => Scenario,
  ): Promise<void> {
    for (const { name } of [...list(this.smallest)].reverse())
      if (list(this.smallest).length > 1) await this.accept(without(this.smallest, name));
  }

  private async simplify(): Promise<void> {
    for (const simpler of simplifications) {
      // What can be halved is halved as long as it still fails.
      while (!this.isOver && (await this.accept(simpler(this.smallest))));
    }
  }

  private async accept(candidate: Scenario): Promise<boolean> {
    const text = JSON.stringify(candidate);
    if (this.isOver || this.tried.has(text) || text === JSON.stringify(this.smallest)) return false;
    this.tried.add(text);
    this.runs++;
    if (!(await this.options.fails(candidate))) return false;
    this.smallest = candidate;
    this.options.progress?.(candidate, this.runs);
    return true;
  }
}
