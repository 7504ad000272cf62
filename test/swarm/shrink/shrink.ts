import { NS_PER_S } from '../../../src/base/units.js';
import type { Scenario } from '../scenario/scenario.js';
import { ddmin } from './ddmin.js';
import { endAt, simplifications } from './simplify.js';
import { withoutController, withoutMachine, withoutModel } from './without.js';

/** What is done at the time of the failure may still matter. */
const AFTER_NS = NS_PER_S / 10;

export interface ShrinkOptions {
  /** Whether a scenario fails as the first one does. */
  readonly fails: (scenario: Scenario) => Promise<boolean>;
  /** When the first one did. */
  readonly failedNs: number;
  /** Of `fails`; what was found by then is the result. */
  readonly mostRuns: number;
  /** It got smaller. */
  readonly progress?: (scenario: Scenario, runs: number) => void;
}

/** A smaller scenario that still fails: it ends with the failure if it can, has fewer faults, clients and machines, simpler numbers. */
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
    await this.accept(endAt(this.smallest, this.options.failedNs + AFTER_NS));
    let before: Scenario;
    do {
      before = this.smallest;
      await this.reduceFaults();
      await this.reduceWorkload('changes');
      await this.reduceWorkload('clients');
      await this.reduceNamed((s) => s.cluster.machines, withoutMachine);
      await this.reduceNamed((s) => s.cluster.controllers, withoutController);
      await this.reduceNamed((s) => s.cluster.pipelines ?? [], withoutModel);
      await this.reduceNamed((s) => s.cluster.models, withoutModel);
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

  /** One at least stays. */
  private async reduceNamed(
    list: (scenario: Scenario) => readonly { readonly name: string }[],
    without: (scenario: Scenario, name: string) => Scenario,
  ): Promise<void> {
    const from = this.smallest;
    const all = list(from).map(({ name }) => name);
    await ddmin(all, async (part) => {
      const dropped = all.filter((name) => !part.includes(name));
      return part.length > 0 && this.accept(dropped.reduce(without, from));
    });
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
