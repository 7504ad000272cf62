import type { LiveController } from '../../../src/live/controller/live-controller.js';
import type { Server } from '../../../src/serve/server.js';
import type { GpuSnapshot, HistoryEvent } from '../history/history.js';

type Snapshot = Extract<HistoryEvent, { readonly kind: 'snapshot' }>;

/** What a controller believes. */
export function snapshotOf(
  server: Server,
): Pick<Snapshot, 'isReady' | 'drives' | 'gpus' | 'requests' | 'actions'> {
  const running = server['running'];
  if (running === null) return { isReady: false, drives: false, gpus: [], requests: 0, actions: 0 };
  const { controller, assembly } = running.cluster;
  const { cluster, requests } = controller.core;
  const gpus = Array.from({ length: cluster.gpus }, (_, gpu) => gpu)
    .filter((gpu) => cluster.up.has(gpu))
    .map((gpu): GpuSnapshot => {
      const { fleet } = assembly;
      return {
        worker: fleet.nameOf(gpu).split(':')[0],
        gpu: fleet.localGpu(gpu),
        warm: cluster.models.flatMap(({ name }, model) => (cluster.warm.has(model, gpu) ? name : [])),
        freePages: cluster.pages[gpu].free,
      };
    });
  return {
    isReady: running.models.service.state.notReady === null,
    drives: gpus.length > 0,
    gpus,
    requests: requests.size,
    actions: outstandingOf(controller),
  };
}

function outstandingOf(controller: LiveController): number {
  return controller['outstanding']['ofGpu'].reduce((sum, actions) => sum + [...actions].length, 0);
}
