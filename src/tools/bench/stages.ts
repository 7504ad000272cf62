import { NS_PER_S } from '../../base/units.js';
import { atLongest } from '../../live/lengths.js';
import { BenchChild } from './child/child-process.js';
import type { Role } from './child/messages.js';
import { MachineMeter } from './child/usage-meter.js';
import { type ClientLoad, loadServer, warmUpSeconds } from './clients.js';
import type { DeviceStage, ServedStage } from './stage.js';
import { machineOf, type Subject } from './subject.js';

/** The frontend, the decoding of tensors, the scheduler and the way to a device that takes no time and back. */
export function measureIo(subject: Subject, load: ClientLoad): Promise<ServedStage> {
  const gpu = machineOf(subject, true);
  return withChild({ kind: 'server', gpu, settings: subject.settings }, (server) =>
    loadServer('io', { ...server, helpers: [] }, load),
  );
}

/** The same with that device in a process of its own, behind the stream between machines. */
export function measureRemoteIo(subject: Subject, load: ClientLoad): Promise<ServedStage> {
  return withChild({ kind: 'worker', machine: machineOf(subject, true) }, (worker) => {
    const gpu = `127.0.0.1:${worker.ports.worker}`;
    return withChild({ kind: 'server', gpu, settings: subject.settings }, (server) =>
      loadServer('remote', { ...server, helpers: [worker.child] }, load),
    );
  });
}

/** The device by itself, at the given batch sizes (indexes, by model). */
export function measureSynthetic(
  { device, models, mix }: Subject,
  batches: readonly number[],
  { trials, seconds }: Pick<ClientLoad, 'trials' | 'seconds'>,
): Promise<DeviceStage> {
  const used = models.flatMap(({ spec, signature, ortPath }, m) =>
    mix[m] > 0 && ortPath !== null
      ? [
          {
            name: spec.name,
            ortPath,
            signature: atLongest(signature),
            batchSize: spec.batchSizes[batches[m]],
            share: mix[m],
          },
        ]
      : [],
  );
  return withChild({ kind: 'synthetic', spec: { device, models: used } }, async ({ child }) => {
    await child.trial(warmUpSeconds(seconds));
    const throughputRps: number[] = [];
    await child.usage();
    const machine = new MachineMeter();
    for (let trial = 0; trial < trials; trial++) {
      const { requests, tookNs } = await child.trial(seconds);
      throughputRps.push((requests * NS_PER_S) / tookNs);
    }
    const busyCores = machine.take();
    const { cores } = await child.usage();
    return { stage: 'synthetic', throughputRps, otherCores: Math.max(0, busyCores - cores) };
  });
}

/** The whole server on the real device. */
export function measureFull(subject: Subject, load: ClientLoad): Promise<ServedStage> {
  const gpu = machineOf(subject, false);
  return withChild({ kind: 'server', gpu, settings: subject.settings }, (server) =>
    loadServer('full', { ...server, helpers: [] }, load),
  );
}

async function withChild<T>(
  role: Role,
  work: (started: Awaited<ReturnType<typeof BenchChild.start>>) => Promise<T>,
): Promise<T> {
  const started = await BenchChild.start(role);
  try {
    return await work(started);
  } finally {
    await started.child.stop();
  }
}
