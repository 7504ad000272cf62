import { EventEmitter } from 'node:events';
import { describe, expect, it, vi } from 'vitest';
import { INFER } from '../../../../src/core/action.js';
import type { WorkerModel } from '../../../../src/live/model.js';
import { Executor } from '../../../../src/live/worker/executor/executor.js';
import type { ExecutorOrder } from '../../../../src/live/worker/executor/protocol.js';
import { REAL_WORLD } from '../../../../src/live/world/real-world.js';
import { useFakeTime } from '../../../fake-time.js';
import { profiled } from '../fixtures.js';

/** An executor thread that is ready at once or never, and does what the test wants when it gets an order. */
class FakeThread extends EventEmitter {
  constructor(
    private readonly ordered: (order: ExecutorOrder, thread: FakeThread) => void,
    isReady: boolean,
  ) {
    super();
    if (isReady) queueMicrotask(() => this.emit('message', { kind: 'ready' }));
  }

  postMessage(order: ExecutorOrder): void {
    this.ordered(order, this);
  }

  async terminate(): Promise<number> {
    this.emit('exit', 1);
    return 1;
  }

  unref(): void {}
}

/** The model at index `changes` goes as soon as the thread has begun to start; −1: none does. */
function executor(
  changes: number,
  ordered: (order: ExecutorOrder, thread: FakeThread) => void,
  areReady = true,
) {
  const models: (WorkerModel | null)[] = [profiled('a'), profiled('b'), profiled('c')];
  const deaths: string[] = [];
  const threads: FakeThread[] = [];
  const abandoned: unknown[] = [];
  const start = () => {
    if (changes >= 0) models[changes] = null;
    const thread = new FakeThread(ordered, areReady);
    threads.push(thread);
    return thread;
  };
  const own = new Executor(
    { gpus: [{ gpu: 0, device: { kind: 'simulated', timeScale: 1 } }], models, pages: 6, hosts: 0 },
    { results: () => {}, memory: () => {}, died: (reason) => deaths.push(reason) },
    { ...REAL_WORLD, threads: { start, abandon: (thread) => abandoned.push(thread) } },
  );
  return { own, models, deaths, threads, abandoned };
}

describe('Executor: models that change while its threads start', () => {
  it('reach them, also one that changes while they take in another', async () => {
    const heard: [number, string | undefined][] = [];
    const { own, models } = executor(2, (order) => {
      if (order.kind !== 'model') return;
      heard.push([order.index, order.model?.spec.name]);
      if (order.index !== 2) return;
      models[0] = profiled('d');
      void own.modelChanged(0);
    });
    await own.start();
    expect(heard).toEqual([
      [2, undefined],
      [0, 'd'],
    ]);
  });

  it('do not hide that a thread has ended meanwhile', async () => {
    const { own, deaths } = executor(1, (_, thread) => thread.emit('exit', 1));
    await expect(own.start()).rejects.toThrow('a thread of its executor ended');
    expect(own.threads).toEqual([]);
    expect(deaths).toEqual([]);
  });
});

describe('Executor: a device that does not return', () => {
  useFakeTime(['setTimeout', 'clearTimeout']);

  const STUCK =
    'the INFER of model b on GPU 0 (simulated) is hung; the GPU is out of service until it returns';

  /** Its only thread runs an INFER for ever. */
  async function stuck() {
    const made = executor(-1, (order, thread) => {
      if (order.kind === 'quiesce' && made.threads[0] === thread)
        thread.emit('message', { kind: 'waits', actions: [{ gpu: 0, kind: INFER, model: 1 }] });
      else if (order.kind === 'quiesce') thread.emit('message', { kind: 'quiesced', present: [[]] });
    });
    await made.own.start();
    return made;
  }

  it('is waited for as long as a worker drains, then given up by name', async () => {
    const { own, deaths, threads, abandoned } = await stuck();
    const quiesced = vi.fn();
    void own.quiesce().then(quiesced);
    void own.quiesce().then(quiesced);
    await vi.advanceTimersByTimeAsync(30_000);
    expect(quiesced).not.toHaveBeenCalled();
    await vi.advanceTimersByTimeAsync(5_000);
    expect(quiesced.mock.calls).toEqual([[[[]]], [[[]]]]);
    expect(abandoned).toEqual(threads);
    await new Promise((resolve) => setImmediate(resolve));
    expect(deaths).toEqual([STUCK]);
  });

  it('gets no second thread before the first has ended', async () => {
    const { own, deaths, threads } = await stuck();
    void own.quiesce();
    await vi.advanceTimersByTimeAsync(35_000);
    expect(await own.quiesce()).toEqual([[]]);
    await new Promise((resolve) => setImmediate(resolve));
    expect(threads).toHaveLength(1);
    expect(deaths).toEqual([STUCK, STUCK]);
    threads[0].emit('exit', 0);
    expect(await own.quiesce()).toEqual([[]]);
    expect(threads).toHaveLength(2);
    await new Promise((resolve) => setImmediate(resolve));
    expect(deaths).toHaveLength(2);
    expect(own.threads).toEqual([threads[1]]);
  });

  it('keeps no executor from being stopped, also while that starts', async () => {
    const stopped = vi.fn();
    const { own } = await stuck();
    void own.quiesce();
    void own.stop().then(stopped);
    await vi.advanceTimersByTimeAsync(5_000);
    expect(stopped).toHaveBeenCalledTimes(1);
    const { own: starting, threads } = executor(-1, () => {}, false);
    const failed = expect(starting.start()).rejects.toThrow('the executor is stopped');
    await expect.poll(() => threads).toHaveLength(1);
    void starting.stop().then(stopped);
    await vi.advanceTimersByTimeAsync(5_000);
    await failed;
    expect(stopped).toHaveBeenCalledTimes(2);
  });
});
