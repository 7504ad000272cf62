import { describe, expect, it } from 'vitest';
import { InvariantError } from '../../src/base/invariant.js';
import { Controller } from '../../src/core/controller.js';
import { REQUEST_FREE } from '../../src/core/request.js';
import { POLICIES } from '../../src/policies/registry.js';
import { Checker } from '../../src/sim/checker.js';
import { models } from '../core/fixtures.js';
import { WorkerHarness } from '../core/worker-harness.js';

/** A controller of one GPU that holds model 0 and has a request in its queue, its worker, and who checks both. */
function checked() {
  const fifo = POLICIES.find(({ kind }) => kind === 'fifo');
  if (fifo === undefined) throw new Error('no fifo');
  const controller = new Controller({
    cluster: { models: models(4), gpus: 1, pages: 6 },
    defaultSloNs: 1e9,
    createPolicy: (context) => fifo.create(context, { maxBatch: 8, maxDelay: 1e6 }),
    port: { send: () => {}, answer: () => {} },
  });
  controller.gpuUp(0, [0]);
  controller.offer(1, 0, 1e9, 0);
  controller.step(0);
  const { worker } = new WorkerHarness();
  return { controller, worker, checker: new Checker(controller, [worker]) };
}

type Checked = ReturnType<typeof checked>;

describe('Checker', () => {
  it('finds nothing wrong with what is right', () => {
    expect(() => checked().checker.check()).not.toThrow();
  });

  it.each<[string, (of: Checked) => void]>([
    ['an instant ends with every input handled', ({ controller }) => controller.offer(0, 0, 1e9, 0)],
    ['a warm model is held', ({ controller }) => controller.cluster.held.delete(0, 0)],
    ['pages are taken or free', ({ controller }) => controller.cluster.pages[0].release(1)],
    ['pages are taken or free', ({ controller }) => controller.cluster.pages[0].take(1)],
    [
      'a worker never takes more pages than it has',
      ({ worker }) => Object.defineProperty(worker, 'freePages', { value: -1 }),
    ],
    ['outstanding work is not negative', ({ controller }) => controller.cluster.exec[0].add(9, -1, 0)],
    [
      'every slot in use is a request that awaits its answer',
      ({ controller }) => controller.requests.state.fill(REQUEST_FREE),
    ],
    [
      'every slot in use is a request that awaits its answer',
      ({ controller }) => {
        controller.requests.state[7] = REQUEST_FREE + 1;
      },
    ],
  ])('sees when it does not hold that %s', (rule, breakIt) => {
    const made = checked();
    breakIt(made);
    expect(() => made.checker.check()).toThrow(InvariantError);
    expect(() => made.checker.check()).toThrow(rule);
  });
});
