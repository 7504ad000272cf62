/**
 * A small system in which time passes in slots, and what the best scheduler can do that does not know the future.
 *
 * In each slot a model gets one request or none. A batch of one of the `sizes` takes as many slots as `exec` says and serves
 * requests of one model that are then at most `sloSlots` old. What matters when the GPU is free is which requests wait
 * and how old they are, so the best rule is that of a Markov decision process, found by value iteration.
 */
export interface SlottedSystem {
  readonly sloSlots: number;
  readonly sizes: readonly number[];
  readonly exec: readonly number[];
  /** How each model's requests come. */
  readonly models: readonly SlottedArrivals[];
}

/** Chance of a request in a slot, by phase, and of changing to the other phase before the next slot. */
export interface SlottedArrivals {
  readonly chance: readonly [number, number];
  readonly change: readonly [number, number];
}

/** Requests come with the same chance in every slot. */
export function steady(chance: number): SlottedArrivals {
  return { chance: [chance, chance], change: [0, 0] };
}

/**
 * Requests served in time per slot by the best rule, within 10⁻⁵. Phases are visible to that rule, which no
 * scheduler sees, so with bursts it is a bound on all that do not know the future.
 */
export function onlineOptimum(system: SlottedSystem): number {
  const process = new DecisionProcess(system);
  for (let iteration = 0; iteration < MOST_ITERATIONS; iteration++) {
    const [low, high] = process.improve();
    if (high - low < 1e-5) return (low + high) / 2;
  }
  throw new Error('value iteration does not converge');
}

const MOST_ITERATIONS = 10_000;

/**
 * A state is the phase of each model, and for each a bit per age of a request that can still be served. `value[r]` is for
 * states in which the GPU is busy for r more slots, relative to one of them.
 */
class DecisionProcess {
  private readonly ages: number;
  private readonly queueStates: number;
  private readonly states: number;
  private readonly value: Float64Array[];
  private readonly next: Float64Array[];
  /** Expected value of the next slot, by how long the GPU is still busy then. */
  private readonly ahead: Float64Array[];
  /** By batch size and the queue of a model: how many the batch takes, and what it leaves. */
  private readonly taken: Int32Array[];
  private readonly left: Int32Array[];

  constructor(private readonly system: SlottedSystem) {
    const { sloSlots, sizes, exec, models } = system;
    this.ages = sloSlots - exec[0] + 1;
    this.queueStates = 2 ** (this.ages * models.length);
    const phases = models.some(({ change }) => change[0] > 0) ? 2 ** models.length : 1;
    this.states = this.queueStates * phases;
    const perBusy = () => Array.from({ length: Math.max(...exec) }, () => new Float64Array(this.states));
    [this.value, this.next, this.ahead] = [perBusy(), perBusy(), perBusy()];
    const queues = 2 ** this.ages;
    this.taken = sizes.map((size, i) =>
      Int32Array.from({ length: queues }, (_, queue) => Math.min(size, ones(this.servable(queue, i)))),
    );
    this.left = sizes.map((_, i) =>
      Int32Array.from({ length: queues }, (_, queue) =>
        without(queue, this.servable(queue, i), this.taken[i][queue]),
      ),
    );
  }

  /** One step of value iteration. The optimum lies between the two numbers. */
  improve(): [number, number] {
    const { value, next, ahead, states } = this;
    for (let busy = 0; busy < value.length; busy++) this.expect(value[busy], ahead[busy]);
    for (let state = 0; state < states; state++) next[0][state] = this.best(state);
    for (let busy = 1; busy < value.length; busy++) next[busy].set(ahead[busy - 1]);
    let [low, high] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
    const base = next[0][0];
    for (let busy = 0; busy < value.length; busy++) {
      for (let state = 0; state < states; state++) {
        const gain = next[busy][state] - value[busy][state];
        if (gain < low) low = gain;
        if (gain > high) high = gain;
        value[busy][state] = next[busy][state] - base;
      }
    }
    return [low, high];
  }

  private servable(queue: number, sizeIndex: number): number {
    const { sloSlots, exec } = this.system;
    return queue & (2 ** Math.max(0, sloSlots - exec[sizeIndex] + 1) - 1);
  }

  /** The GPU is free: it waits for a slot, or runs a batch. */
  private best(state: number): number {
    const { ages, ahead, taken, left, system } = this;
    let best = ahead[0][state];
    for (let model = 0; model < system.models.length; model++) {
      const shift = ages * model;
      const queue = (state >> shift) & (2 ** ages - 1);
      if (queue === 0) continue;
      const others = state - queue * 2 ** shift;
      for (let i = 0; i < taken.length; i++) {
        const count = taken[i][queue];
        if (count === 0) break;
        best = Math.max(best, count + ahead[system.exec[i] - 1][others + left[i][queue] * 2 ** shift]);
      }
    }
    return best;
  }

  /** What a slot brings: all requests get older, phases change, new requests come. */
  private expect(value: Float64Array, into: Float64Array): void {
    const { ages, states, queueStates, system } = this;
    const hasPhases = states > queueStates;
    let from = value;
    system.models.forEach(({ chance, change }, model) => {
      const to = new Float64Array(states);
      const newest = 2 ** (ages * model);
      const phaseBit = queueStates * 2 ** model;
      for (let state = 0; state < states; state++) {
        if ((state & newest) !== 0) continue;
        const phase = hasPhases && (state & phaseBit) !== 0 ? 1 : 0;
        const stays = after(from, state, newest, chance[phase]);
        if (!hasPhases) to[state] = stays;
        else {
          const changes = after(from, state ^ phaseBit, newest, chance[1 - phase]);
          to[state] = (1 - change[phase]) * stays + change[phase] * changes;
        }
      }
      from = to;
    });
    for (let state = 0; state < states; state++) into[state] = from[this.older(state)];
  }

  private older(state: number): number {
    const { ages, queueStates, system } = this;
    const all = 2 ** ages - 1;
    let older = state - (state % queueStates);
    for (let model = 0; model < system.models.length; model++) {
      const queue = (state >> (ages * model)) & all;
      older += ((queue << 1) & all) * 2 ** (ages * model);
    }
    return older;
  }
}

function after(value: Float64Array, state: number, newest: number, chance: number): number {
  return (1 - chance) * value[state] + chance * value[state + newest];
}

function ones(bits: number): number {
  let count = 0;
  for (let left = bits; left !== 0; left &= left - 1) count++;
  return count;
}

/** The queue without the oldest `count` of those that are servable. A younger request is worth no less. */
function without(queue: number, servable: number, count: number): number {
  let left = servable;
  for (let i = 0; i < count; i++) left -= 2 ** (31 - Math.clz32(left));
  return queue - servable + left;
}
