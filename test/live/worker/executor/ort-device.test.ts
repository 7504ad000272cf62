import { MessageChannel, receiveMessageOnPort } from 'node:worker_threads';
import { beforeEach, describe, expect, it } from 'vitest';
import {
  STATUS_DEVICE_ERROR,
  STATUS_INFER_TOO_LATE,
  STATUS_OK,
  STATUS_WEIGHTS_MISSING,
} from '../../../../src/core/action.js';
import type { ActionMessage, ResultMessage } from '../../../../src/live/messages.js';
import { ExecLine, Signal } from '../../../../src/live/transfer.js';
import { GpuExecutor, OrtDevice } from '../../../../src/live/worker/executor/executor-loop.js';
import type { HostMessage, HostReply } from '../../../../src/live/worker/executor/protocol.js';
import { infer, load, type Order, profiled } from '../fixtures.js';

const NEVER = Number.POSITIVE_INFINITY;
const COPIES = { copyInNs: 2, copyOutNs: 3 };

/** A GPU whose only host thread is the test. */
class Bench {
  readonly results: ResultMessage[] = [];
  readonly gpu: GpuExecutor;
  readonly line = new ExecLine();
  private readonly channel = new MessageChannel();
  private nextId = 0;

  constructor() {
    const { port1: port } = this.channel;
    const signal = new Signal().buffer;
    this.gpu = new GpuExecutor({
      models: [profiled('a'), profiled('b')],
      pages: 6,
      oneLane: false,
      device: new OrtDevice([{ port, exec: this.line.buffer, signal }]),
      sendResult: (result) => this.results.push(result),
    });
  }

  send(order: Order): void {
    const anyTime = { earliestNs: 0, latestNs: NEVER };
    const rest = { id: this.nextId++, gpu: 0, batchIndex: 0, count: 0, inputs: [] };
    this.gpu.receive({ ...rest, ...anyTime, ...order } as ActionMessage);
  }

  /** Lets all that is due happen. */
  turn(nowNs: number): void {
    while (this.gpu.turn(nowNs) <= nowNs);
  }

  /** What the host was sent since the last time. */
  received(): HostMessage[] {
    const messages: HostMessage[] = [];
    for (;;) {
      const next = receiveMessageOnPort(this.channel.port2);
      if (next === undefined) return messages;
      messages.push(next.message);
    }
  }

  reply(reply: HostReply): void {
    this.channel.port2.postMessage(reply);
  }

  /** Ends EXEC, from 120 to 150. */
  end(id: number, outputs: Uint8Array<ArrayBuffer>[] = []): void {
    this.reply({ kind: 'tensors', id, outputs, error: '' });
    this.line.end({ status: STATUS_OK, beginNs: 120, endNs: 150, ...COPIES });
  }

  /** Loads model 0 by 100. */
  loadFirst(): void {
    this.send(load(0));
    this.turn(90);
    const nothing = { copyInNs: 0, copyOutNs: 0, outputs: [] };
    const report = { status: STATUS_OK, beginNs: 91, endNs: 99, ...nothing, error: '' };
    this.reply({ kind: 'loaded', report });
    this.turn(100);
    this.received();
    this.results.length = 0;
  }
}

let bench: Bench;

beforeEach(() => {
  bench = new Bench();
  bench.loadFirst();
});

const kindsOf = (messages: readonly HostMessage[]) => messages.map(({ kind }) => kind);

describe('OrtDevice', () => {
  it('sends inputs ahead while the lane is taken, and asks for one INFER at a time', () => {
    bench.send(infer(0));
    bench.send(infer(0));
    bench.turn(110);
    expect(bench.received()).toMatchObject([
      { kind: 'stage', order: { id: 1, inputs: [new Uint8Array(8)] } },
      { kind: 'stage', order: { id: 2 } },
    ]);
    expect(bench.line.asked).toBe(1);
    const outputs = [new Uint8Array([1, 2, 3, 4])];
    bench.end(1, outputs);
    bench.turn(151);
    expect(bench.line.asked).toBe(2);
    expect(bench.results).toEqual([
      { id: 1, gpu: 0, status: STATUS_OK, beginNs: 120, endNs: 150, ...COPIES, outputs, error: '' },
    ]);
    expect(bench.gpu.busy).toBe(true);
  });

  it('waits for the end of an INFER even if its outputs are there already', () => {
    bench.send(infer(0));
    bench.turn(110);
    bench.reply({ kind: 'tensors', id: 1, outputs: [], error: '' });
    bench.turn(111);
    expect(bench.results).toEqual([]);
    bench.line.end({ status: STATUS_OK, beginNs: 108, endNs: 109, ...COPIES });
    bench.turn(112);
    expect(bench.results.map(({ status }) => status)).toEqual([STATUS_OK]);
  });

  it('passes on what went wrong, in words', () => {
    bench.send(infer(0));
    bench.turn(110);
    bench.reply({ kind: 'tensors', id: 1, outputs: [], error: 'out of memory' });
    bench.line.end({ status: STATUS_DEVICE_ERROR, beginNs: 120, endNs: 125, ...COPIES });
    bench.turn(130);
    expect(bench.results).toMatchObject([
      { status: STATUS_DEVICE_ERROR, error: 'out of memory', beginNs: 120, endNs: 125 },
    ]);
    expect(bench.gpu.busy).toBe(false);
  });

  it('discards an INFER that is not run', () => {
    bench.send(infer(1));
    bench.send(infer(0));
    bench.send(infer(0, { latestNs: 140 }));
    bench.turn(110);
    bench.end(2);
    bench.turn(150);
    expect(bench.results.map(({ id, status }) => [id, status])).toEqual([
      [1, STATUS_WEIGHTS_MISSING],
      [2, STATUS_OK],
      [3, STATUS_INFER_TOO_LATE],
    ]);
    const discarded = bench.received().flatMap((message) => (message.kind === 'discard' ? [message.id] : []));
    expect(discarded).toEqual([1, 3]);
  });

  it('discards all that waits when it is paused, but for what runs', () => {
    for (let i = 0; i < 3; i++) bench.send(infer(0));
    bench.turn(110);
    bench.gpu.pause();
    const messages = bench.received();
    expect(kindsOf(messages)).toEqual(['stage', 'stage', 'stage', 'discardOthers']);
    expect(messages[3]).toEqual({ kind: 'discardOthers', id: 1 });
    bench.turn(140);
    expect(bench.gpu.busy).toBe(true);
    bench.end(1);
    bench.turn(150);
    expect(bench.gpu.busy).toBe(false);
    expect(bench.line.asked).toBe(-1);
  });
});
