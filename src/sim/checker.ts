import { invariant } from '../base/invariant.js';
import type { Controller } from '../core/controller.js';
import { REQUEST_FREE } from '../core/request.js';
import type { Worker } from '../core/worker.js';

/**
 * Checks after an instant that the states of controller and workers agree. For tests and debugging: the cost grows with
 * models × GPUs.
 */
export class Checker {
  constructor(
    private readonly controller: Controller,
    private readonly workers: readonly Worker[],
  ) {}

  check(): void {
    const { cluster, requests } = this.controller;
    invariant(!this.controller.hasInput, 'an instant ends with every input handled');
    for (let gpu = 0; gpu < cluster.gpus; gpu++) this.checkGpu(gpu);
    let waiting = 0;
    for (let slot = 0; slot < requests.state.length; slot++) {
      if (requests.state[slot] !== REQUEST_FREE) waiting++;
    }
    invariant(waiting === requests.size, 'every slot in use is a request that awaits its answer');
  }

  private checkGpu(gpu: number): void {
    const { cluster } = this.controller;
    const pages = cluster.pages[gpu];
    let taken = 0;
    for (let model = 0; model < cluster.models.length; model++) {
      const held = cluster.held.has(model, gpu);
      invariant(held || !cluster.warm.has(model, gpu), 'a warm model is held');
      if (held) taken += cluster.models[model].pages;
    }
    invariant(taken + pages.free === pages.capacity, 'pages are taken or free');
    invariant(this.workers[gpu].freePages >= 0, 'a worker never takes more pages than it has');
    invariant(
      cluster.exec[gpu].outstandingNs >= 0 && cluster.weights[gpu].outstandingNs >= 0,
      'outstanding work is not negative',
    );
  }
}
