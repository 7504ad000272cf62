import type { MessagePort } from 'node:worker_threads';
import { invariant } from '../../../../src/base/invariant.js';
import type { DeviceSpec } from '../../../../src/live/device.js';
import { Signal } from '../../../../src/live/transfer.js';
import { ExecutorLoop } from '../../../../src/live/worker/executor/executor-loop.js';
import type {
  ExecutorOrder,
  ExecutorThreadData,
  ThreadReport,
} from '../../../../src/live/worker/executor/protocol.js';
import { SimulatedDevice } from '../../../../src/live/worker/executor/simulated-device.js';
import type { SimEvent } from '../event-queue.js';
import { type DeviceEvents, FaultyDevice } from './faulty-device.js';
import type { ThreadScope } from './sim-threads.js';

/** What `executor-thread.ts` does, without blocking: it is woken, and asks to be called when there is something to do. */
export function executorBody(scope: ThreadScope): void {
  const { process, world, loop: thread, port } = scope;
  const { simulation } = process.machine;
  const data = scope.data as ExecutorThreadData;
  const signal = new Signal(data.signal);
  const executor = new ExecutorLoop({
    data,
    time: world.time,
    createDevice: ({ gpu, device }, models) => {
      const faults = process.device(gpu);
      faults.changed = () => scope.wake();
      return new FaultyDevice(simulated(device, models), models, faults, eventsOf(scope, gpu));
    },
    port: port as MessagePort,
    receive: () => {
      const message = scope.receive() as ExecutorOrder | undefined;
      return message && { message };
    },
  });
  let next: SimEvent | null = null;
  const turn = () => {
    if (signal.stopped) {
      scope.exit(0);
      return;
    }
    const atNs = executor.turn();
    if (next !== null) next.run = null;
    next = atNs === Number.POSITIVE_INFINITY ? null : thread.postAtLocal(atNs, turn, LATEST_NS);
  };
  simulation.tap.executorStarted?.(
    simulation.nowNs,
    process,
    data.gpus.map(({ gpu }) => gpu),
  );
  port.postMessage({ kind: 'ready' } satisfies ThreadReport);
  scope.wakeOn(() => signal.count, turn);
  turn();
}

function simulated(
  spec: DeviceSpec,
  models: ConstructorParameters<typeof SimulatedDevice>[1],
): SimulatedDevice {
  invariant(spec.kind === 'simulated', 'GPUs of a simulated world are simulated');
  return new SimulatedDevice(spec, models);
}

function eventsOf({ process, world }: ThreadScope, gpu: number): DeviceEvents {
  const { simulation } = process.machine;
  const { tap } = simulation;
  const of = { process: process.name, incarnation: process.incarnation };
  return {
    began: (action, localNs) => tap.deviceBegan?.(simulation.nowNs, of, gpu, action, localNs),
    ended: ({ id }, status, localNs) => tap.deviceEnded?.(simulation.nowNs, of, gpu, id, status, localNs),
    unloaded: (model) => tap.deviceUnloaded?.(simulation.nowNs, of, gpu, model, world.time.monotonicNs()),
  };
}

/** It waits by looking at the clock, so it is a few µs late. */
const LATEST_NS = 5_000;
