import { FREE, type WorkerModel } from '../../../src/live/model.js';
import { StartedModels } from '../../../src/live/worker/local-machine.js';
import { simulatedModel } from '../../../src/serve/simulated-models.js';
import { runWorker } from '../../../src/serve/worker.js';
import { type MachineScenario, type ModelScenario, pagesOn, type Scenario } from '../scenario/scenario.js';
import type { SimProcess } from '../world/index.js';

export const WORKER_PORT = 7000;
export const REGISTRATION_PORT = 7100;
/** As many tensors as a few requests have between two steps. */
const KEPT_BYTES = 1_000_000;
const PAGE_BYTES = 16 * 2 ** 20;

/** What `escapement worker` does, on simulated GPUs. */
export async function startWorker(
  process: SimProcess,
  { name, gpus, kind, lacks }: MachineScenario,
  { cluster }: Scenario,
): Promise<Stoppable> {
  const registers = cluster.joining === 'registers';
  const models = cluster.models
    .filter((model) => lacks?.includes(model.name) !== true)
    .map((model) => ({
      ...withRows(simulatedModel(specOf(model, kind?.slowness ?? 1), 1), model),
      ...(lacks && { digest: model.name }),
    }));
  return runWorker({
    world: process.world,
    machine: {
      devices: Array.from({ length: gpus }, () => ({ kind: 'simulated', timeScale: 1 })),
      ...(lacks === undefined ? { models } : { models: [], source: new StartedModels(models) }),
      pages: pagesOn(cluster, name),
      ...(kind === undefined ? {} : { kind: kind.name }),
      pageBytes: PAGE_BYTES,
    },
    host: '0.0.0.0',
    port: WORKER_PORT,
    metricsPort: null,
    keptBytes: KEPT_BYTES,
    log: process.log,
    controllers: registers ? cluster.controllers.map((each) => `${each.name}:${REGISTRATION_PORT}`) : [],
    advertised: `${name}:${WORKER_PORT}`,
  });
}

/** With a number of rows that its outputs choose. */
function withRows(model: WorkerModel, { yieldsRows }: ModelScenario): WorkerModel {
  if (!yieldsRows) return model;
  const { inputs, outputs } = model.signature;
  const free = outputs.map((output) => ({ ...output, shape: [FREE, ...output.shape] }));
  return { ...model, signature: { inputs, outputs: free, batched: false } };
}

function specOf({ execNs, ...model }: ModelScenario, slowness: number) {
  const { name, pages, loadNs, batchSizes, inputBytes, outputBytes } = model;
  return {
    name,
    weightsBytes: pages * PAGE_BYTES,
    pages,
    loadNs,
    batchSizes,
    execNs: execNs.map((ns) => Math.round(ns * slowness)),
    inputBytes,
    outputBytes,
  };
}

/** A server or a worker that runs. */
interface Stoppable {
  /** Drains, then closes everything. */
  close(): Promise<void>;
}
