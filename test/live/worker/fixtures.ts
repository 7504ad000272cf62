import { monotonicNs } from '../../../src/base/clock/clock.js';
import { type ActionKind, INFER, LOAD, UNLOAD } from '../../../src/core/action.js';
import type { ActionMessage, ResultMessage } from '../../../src/live/messages.js';
import type { WorkerModel } from '../../../src/live/model.js';
import { copied } from '../../../src/live/transfer.js';
import { type LocalMachine, startMachine } from '../../../src/live/worker/local-machine.js';

export const PAGE_BYTES = 1_000;

/** A model of 2 pages that takes FP32 x[2] and gives FP32 y[1], in batches of 1, 2 and 4. */
export function profiled(
  name: string,
  { loadNs = 1_000, execNs = 1_000 }: { loadNs?: number; execNs?: number } = {},
): WorkerModel {
  return {
    spec: {
      name,
      weightsBytes: 2 * PAGE_BYTES,
      pages: 2,
      loadNs,
      batchSizes: [1, 2, 4],
      execNs: [execNs, 2 * execNs, 4 * execNs],
      inputBytes: 8,
      outputBytes: 4,
    },
    signature: {
      inputs: [{ name: 'x', datatype: 'FP32', shape: [2], bytes: 8 }],
      outputs: [{ name: 'y', datatype: 'FP32', shape: [1], bytes: 4 }],
      batched: true,
    },
    version: '1',
    sloNs: null,
    ortPath: null,
  };
}

/** Starts simulated GPUs, each with a cache of 6 pages. */
export function simulatedMachine(
  gpus: number,
  models: readonly WorkerModel[],
  timeScale = 1,
): Promise<LocalMachine> {
  const devices = Array.from({ length: gpus }, () => ({ kind: 'simulated', timeScale }) as const);
  return startMachine({ devices, models, pages: 6, pageBytes: PAGE_BYTES });
}

/** What a test wants to differ from an action that may start at any time. */
export type Order = Partial<ActionMessage>;

/** Sends actions to a machine and keeps what comes back. */
export class Driver {
  readonly results: ResultMessage[] = [];
  readonly downs: { gpu: number; reason: string }[] = [];
  private nextId = 0;
  private changed: () => void = () => {};

  constructor(readonly machine: LocalMachine) {
    machine.attach({
      results: (results) => {
        this.results.push(...results);
        this.changed();
      },
      gpuDown: (gpu, reason) => {
        this.downs.push({ gpu, reason });
        this.changed();
      },
    });
  }

  /** Returns the ids of the actions. */
  send(...orders: readonly Order[]): number[] {
    const actions = orders.map((order) => ({ ...ANY_TIME, id: this.nextId++, ...order }));
    this.machine.submit(actions.map((action) => ({ ...action, inputs: copied(action.inputs) })));
    return actions.map(({ id }) => id);
  }

  /** Sends the actions and waits for their results, in the order of the actions. */
  async run(...orders: readonly Order[]): Promise<ResultMessage[]> {
    const ids = this.send(...orders);
    await this.until(() => ids.every((id) => this.resultOf(id) !== undefined));
    return ids.map((id) => this.resultOf(id) as ResultMessage);
  }

  async until(condition: () => boolean): Promise<void> {
    while (!condition()) {
      await new Promise<void>((resolve) => {
        this.changed = resolve;
      });
    }
  }

  resultOf(id: number): ResultMessage | undefined {
    return this.results.find((result) => result.id === id);
  }
}

export function load(model = 0, more: Order = {}): Order {
  return { kind: LOAD, model, ...more };
}

export function unload(model = 0, more: Order = {}): Order {
  return { kind: UNLOAD, model, ...more };
}

/** Of a batch that the model in `profiled` takes. */
export function infer(model = 0, more: Order = {}): Order {
  return { kind: INFER, model, count: 1, inputs: [new Uint8Array(8)], ...more };
}

/** So far ahead that nothing has happened by then that a test does not wait for. */
export function inMs(ms: number): number {
  return monotonicNs() + ms * 1_000_000;
}

const ANY_TIME = {
  gpu: 0,
  kind: LOAD as ActionKind,
  model: 0,
  batchIndex: 0,
  count: 0,
  earliestNs: 0,
  latestNs: Number.POSITIVE_INFINITY,
  inputs: [],
};
