import { EventEmitter } from 'node:events';
import { describe, expect, it } from 'vitest';
import type { WorkerModel } from '../../../../src/live/model.js';
import { Executor } from '../../../../src/live/worker/executor/executor.js';
import type { ExecutorOrder } from '../../../../src/live/worker/executor/protocol.js';
import { REAL_WORLD } from '../../../../src/live/world/real-world.js';
import { profiled } from '../fixtures.js';

/** An executor thread that is ready at once, and does what the test wants when it gets an order. */
class FakeThread extends EventEmitter {
  constructor(private readonly ordered: (order: ExecutorOrder, thread: FakeThread) => void) {
    super();
    queueMicrotask(() => this.emit('message', { kind: 'ready' }));
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

/** The model at index `changes` goes as soon as the thread has begun to start. */
function executor(changes: number, ordered: (order: ExecutorOrder, thread: FakeThread) => void) {
  const models: (WorkerModel | null)[] = [profiled('a'), profiled('b'), profiled('c')];
  const deaths: string[] = [];
  const start = () => {
    models[changes] = null;
    return new FakeThread(ordered);
  };
  const own = new Executor(
    { gpus: [{ gpu: 0, device: { kind: 'simulated', timeScale: 1 } }], models, pages: 6, hosts: 0 },
    { results: () => {}, died: (reason) => deaths.push(reason) },
    { ...REAL_WORLD, threads: { start } },
  );
  return { own, models, deaths };
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
