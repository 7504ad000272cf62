import { describe, expect, it } from 'vitest';
import { LOAD, STATUS_OK } from '../../../../src/core/action.js';
import type { ActionMessage } from '../../../../src/live/messages.js';
import { ExecutorLoop } from '../../../../src/live/worker/executor/executor-loop.js';
import type { ExecutorOrder, ThreadReport } from '../../../../src/live/worker/executor/protocol.js';
import { SimulatedDevice } from '../../../../src/live/worker/executor/simulated-device.js';
import { infer, load, type Order, profiled } from '../fixtures.js';

const LOAD_NS = 100;
const EXEC_NS = 70;
const NEVER = Number.POSITIVE_INFINITY;

/** The executor thread of two simulated GPUs, 3 and 5 of their machine, at a time that the test chooses. */
class Thread {
  nowNs = 0;
  readonly devices: number[] = [];
  private readonly orders: ExecutorOrder[] = [];
  private reports: ThreadReport[] = [];
  private nextId = 0;
  private readonly loop: ExecutorLoop;

  constructor() {
    const device = { kind: 'simulated', timeScale: 1 } as const;
    const models = ['a', 'b'].map((name) => profiled(name, { loadNs: LOAD_NS, execNs: EXEC_NS }));
    this.loop = new ExecutorLoop({
      data: { gpus: [3, 5].map((gpu) => ({ gpu, device })), models, pages: 6 },
      time: { monotonicNs: () => this.nowNs },
      createDevice: ({ gpu }, own) => {
        this.devices.push(gpu);
        return new SimulatedDevice(device, own);
      },
      port: { postMessage: (report: ThreadReport) => this.reports.push(structuredClone(report)) } as never,
      receive: () => {
        const message = this.orders.shift();
        return message && { message };
      },
    });
  }

  send(...orders: readonly Order[]): void {
    const rest = { gpu: 3, batchIndex: 0, count: 0, inputs: [], earliestNs: 0, latestNs: NEVER };
    const actions = orders.map((order) => ({ ...rest, id: this.nextId++, ...order }) as ActionMessage);
    this.order({ kind: 'actions', actions });
  }

  order(order: ExecutorOrder): void {
    this.orders.push(order);
  }

  /** When the thread wants to go on, and what it has reported. */
  turnAt(nowNs: number): readonly [number, ...(string | readonly (readonly number[])[])[]] {
    this.nowNs = nowNs;
    const nextNs = this.loop.turn();
    const said = this.reports.map((report) => {
      if (report.kind === 'waits') return report.actions.map(({ gpu, kind, model }) => [gpu, kind, model]);
      if (report.kind !== 'results') return report.kind === 'quiesced' ? report.present : report.kind;
      return report.results.map(({ id, gpu, status, beginNs, endNs }) => {
        expect(status).toBe(STATUS_OK);
        return [id, gpu, beginNs, endNs];
      });
    });
    this.reports = [];
    return [nextNs, ...said];
  }
}

describe('ExecutorLoop', () => {
  it('says when it wants to go on, and reports what has ended when it should have, even if its turn comes late', () => {
    const thread = new Thread();
    expect(thread.turnAt(10)).toEqual([NEVER]);
    thread.send(load(0, { earliestNs: 50 }), infer(0, { earliestNs: 400 }));
    expect(thread.turnAt(20)).toEqual([50]);
    expect(thread.turnAt(52)).toEqual([152]);
    expect(thread.turnAt(160)).toEqual([400, [[0, 3, 52, 152]]]);
    expect(thread.turnAt(400)).toEqual([470]);
    expect(thread.turnAt(500)).toEqual([NEVER, [[1, 3, 400, 470]]]);
  });

  it('runs each GPU by a device of its own, and reports in one message what has ended in one turn', () => {
    const thread = new Thread();
    expect(thread.devices).toEqual([3, 5]);
    thread.send(load(0), load(1, { gpu: 5 }));
    expect(thread.turnAt(0)).toEqual([100]);
    const ended = [
      [0, 3, 0, 100],
      [1, 5, 0, 100],
    ];
    expect(thread.turnAt(100)).toEqual([NEVER, ended]);
  });

  it('answers each quiesce when nothing runs, after the results, and drops what waited', () => {
    const thread = new Thread();
    thread.send(load(0), load(1), load(1, { gpu: 5, earliestNs: 90 }));
    expect(thread.turnAt(0)).toEqual([90]);
    thread.order({ kind: 'quiesce' });
    thread.order({ kind: 'quiesce' });
    const waits = [[3, LOAD, 0]];
    expect(thread.turnAt(50).slice(1)).toEqual([waits, waits]);
    expect(thread.turnAt(100)).toEqual([NEVER, [[0, 3, 0, 100]], [[0], []], [[0], []]]);
  });

  it('takes a model that comes later', () => {
    const thread = new Thread();
    thread.order({ kind: 'model', index: 2, model: profiled('c', { loadNs: 7 }) });
    thread.send(load(2));
    expect(thread.turnAt(1000)).toEqual([1007]);
  });
});
