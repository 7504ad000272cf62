import { Gauge, type Registry } from 'prom-client';
import type { Cluster } from '../../../core/cluster.js';
import { REQUEST_FREE, REQUEST_QUEUED, type RequestTable } from '../../../core/request.js';
import { warmModels } from '../warm-models.js';
import { ModelLabels } from './model-labels.js';

/**
 * Gauges that are computed when somebody asks: queue lengths, free pages, warm models, and GPUs that are there.
 * They cost nothing in between.
 */
export function registerClusterGauges(
  registry: Registry,
  { cluster, requests }: { readonly cluster: Cluster; readonly requests: RequestTable },
  /** Name of the worker that has the GPU; empty: none has. */
  workerOf: (gpu: number) => string,
  /** Name of its kind. */
  kindOf: (gpu: number) => string,
): void {
  const registers = [registry];
  new Gauge({
    name: 'escapement_queued_requests',
    help: 'Requests that wait for a model',
    labelNames: ['model'],
    registers,
    collect() {
      this.reset();
      const labels = new ModelLabels(cluster.models.map(({ name }) => name));
      const queued = new Float64Array(labels.values.length);
      const { state, model } = requests;
      for (let slot = 0; slot < state.length; slot++) {
        if (state[slot] === REQUEST_QUEUED) queued[labels.indexOf(model[slot])]++;
      }
      labels.values.forEach((name, index) => {
        this.set({ model: name }, queued[index]);
      });
    },
  });
  new Gauge({
    name: 'escapement_unanswered_requests',
    help: 'Requests that wait or run',
    registers,
    collect() {
      this.set(requests.state.reduce((sum, state) => sum + (state === REQUEST_FREE ? 0 : 1), 0));
    },
  });
  registerGpuGauges(registry, cluster, workerOf, kindOf);
}

function registerGpuGauges(
  registry: Registry,
  cluster: Cluster,
  workerOf: (gpu: number) => string,
  kindOf: (gpu: number) => string,
): void {
  const registers = [registry];
  new Gauge({
    name: 'escapement_gpu_up',
    help: '1 while the GPU takes actions, 0 while it is away or another controller drives it',
    labelNames: ['gpu', 'worker'],
    registers,
    collect() {
      this.reset();
      for (let gpu = 0; gpu < cluster.gpus; gpu++) {
        const worker = workerOf(gpu);
        if (worker !== '') this.set({ gpu: String(gpu), worker }, cluster.up.has(gpu) ? 1 : 0);
      }
    },
  });
  new Gauge({
    name: 'escapement_gpu_info',
    help: 'Always 1: its labels say what kind of GPU it is',
    labelNames: ['gpu', 'kind'],
    registers,
    collect() {
      this.reset();
      for (let gpu = 0; gpu < cluster.gpus; gpu++)
        if (workerOf(gpu) !== '') this.set({ gpu: String(gpu), kind: kindOf(gpu) }, 1);
    },
  });
  new Gauge({
    name: 'escapement_free_pages',
    help: 'Pages of a weights cache that are free',
    labelNames: ['gpu'],
    registers,
    collect() {
      this.reset();
      for (let gpu = 0; gpu < cluster.gpus; gpu++)
        if (workerOf(gpu) !== '') this.set({ gpu: String(gpu) }, cluster.pages[gpu].free);
    },
  });
  new Gauge({
    name: 'escapement_warm_models',
    help: 'Models that a GPU holds',
    labelNames: ['gpu'],
    registers,
    collect() {
      for (const [gpu, models] of warmModels(cluster).entries()) this.set({ gpu: String(gpu) }, models);
    },
  });
}
