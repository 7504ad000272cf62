import { describe, expect, it } from 'vitest';
import {
  ABORT,
  STATUS_ABORTED,
  STATUS_INFER_WEIGHTS_CHANGED,
  STATUS_OK,
} from '../../../../src/core/action.js';
import type { ActionMessage, ResultMessage } from '../../../../src/live/messages.js';
import { GpuExecutor } from '../../../../src/live/worker/executor/executor-loop.js';
import { SimulatedDevice } from '../../../../src/live/worker/executor/simulated-device.js';
import { infer, load, type Order, profiled, unload } from '../fixtures.js';

const LOAD_NS = 100;
const EXEC_NS = 70;

/** A simulated GPU at a time that the test chooses. */
class Bench {
  readonly results: ResultMessage[] = [];
  readonly gpu: GpuExecutor;
  private nextId = 0;

  constructor(oneLane: boolean, execNs = EXEC_NS) {
    const models = ['a', 'b'].map((name) => profiled(name, { loadNs: LOAD_NS, execNs }));
    this.gpu = new GpuExecutor({
      models,
      pages: 6,
      oneLane,
      device: new SimulatedDevice({ kind: 'simulated', timeScale: 1 }, models),
      sendResult: (result) => this.results.push(result),
    });
  }

  send(order: Order): void {
    const anyTime = { earliestNs: 0, latestNs: Number.POSITIVE_INFINITY };
    const rest = { id: this.nextId++, gpu: 0, batchIndex: 0, count: 0, inputs: [] };
    this.gpu.receive({ ...rest, ...anyTime, ...order } as ActionMessage);
  }

  /** Turns whenever the GPU wants to, and lets `lateNs` go by each time before it does. */
  runFrom(nowNs: number, lateNs = 0): void {
    let next = nowNs;
    while (next !== Number.POSITIVE_INFINITY) next = this.gpu.turn(next + lateNs);
  }

  /** What ran, as [id, begin, end], in order of begin. */
  get spans(): number[][] {
    return this.results
      .map(({ id, beginNs, endNs }) => [id, beginNs, endNs])
      .sort((one, other) => one[1] - other[1]);
  }
}

describe('GpuExecutor', () => {
  it('runs a LOAD and an INFER at the same time on two lanes', () => {
    const bench = new Bench(false);
    bench.send(load(0));
    bench.runFrom(1000);
    bench.send(infer(0));
    bench.send(load(1));
    bench.runFrom(2000);
    expect(bench.spans).toEqual([
      [0, 1000, 1100],
      [1, 2000, 2070],
      [2, 2000, 2100],
    ]);
  });

  it('runs them one after the other on one lane', () => {
    const bench = new Bench(true);
    bench.send(load(0));
    bench.runFrom(1000);
    bench.send(infer(0));
    bench.send(load(1));
    bench.send(infer(1));
    bench.runFrom(2000);
    expect(bench.spans).toEqual([
      [0, 1000, 1100],
      [1, 2000, 2070],
      [2, 2070, 2170],
      [3, 2170, 2240],
    ]);
  });

  it('sends no outputs of an INFER whose weights were given up meanwhile', () => {
    const bench = new Bench(false);
    bench.send(load(0));
    bench.runFrom(1000);
    bench.send(infer(0));
    bench.send(infer(0));
    bench.gpu.turn(2000);
    bench.gpu.turn(2070);
    bench.send(unload(0));
    bench.runFrom(2080);
    expect(bench.results.map(({ id, status, outputs }) => [id, status, outputs.length])).toEqual([
      [0, STATUS_OK, 0],
      [1, STATUS_OK, 1],
      [3, STATUS_OK, 0],
      [2, STATUS_INFER_WEIGHTS_CHANGED, 0],
    ]);
  });

  it('stops an INFER in a millisecond, and none that ends sooner', () => {
    const bench = new Bench(false, 3_000_000);
    bench.send(load(0));
    bench.runFrom(0);
    bench.send(infer(0));
    bench.send(infer(0));
    bench.gpu.turn(1_000_000);
    bench.send({ kind: ABORT, model: 0 });
    bench.runFrom(2_000_000);
    bench.send(infer(0));
    bench.gpu.turn(4_000_000);
    bench.send({ kind: ABORT, model: 0 });
    bench.runFrom(6_500_000);
    const ended = bench.results.map(({ id, status, endNs, outputs }) => [id, status, endNs, outputs.length]);
    expect(ended.slice(1)).toEqual([
      [2, STATUS_ABORTED, 2_000_000, 0],
      [3, STATUS_OK, 2_000_000, 0],
      [1, STATUS_ABORTED, 3_000_000, 0],
      [5, STATUS_OK, 6_500_000, 0],
      [4, STATUS_OK, 7_000_000, 1],
    ]);
  });

  it('starts nothing while it is paused, and forgets what waited', () => {
    const bench = new Bench(false);
    bench.send(load(0));
    bench.runFrom(1000);
    bench.send(infer(0));
    bench.send(infer(0));
    bench.gpu.turn(2000);
    bench.gpu.pause();
    bench.send(infer(0));
    expect(bench.gpu.turn(2010)).toBe(2070);
    expect(bench.gpu.busy).toBe(true);
    expect(bench.gpu.turn(2075)).toBe(Number.POSITIVE_INFINITY);
    expect(bench.gpu.busy).toBe(false);
    expect(bench.gpu.resume()).toEqual([0]);
    bench.runFrom(3000);
    expect(bench.spans.slice(1)).toEqual([
      [1, 2000, 2070],
      [3, 3000, 3070],
    ]);
  });
});
