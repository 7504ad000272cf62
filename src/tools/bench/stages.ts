import { NS_PER_S } from '../../base/units.js';
import { atLongest } from '../../live/lengths.js';
import { BenchChild } from './child/child-process.js';
import type { Role } from './child/messages.js';
import { MachineMeter } from './child/usage-meter.js';
import { type ClientLoad, loadServer, warmUpSeconds } from './clients.js';
import type { MeasuredStage, Service, StageName } from './result.js';
import { benchSloNs, chosenBatches, machineOf, type Subject } from './subject.js';

export interface MeasureOptions extends Pick<ClientLoad, 'protocol' | 'trials' | 'seconds' | 'clients'> {
  /** Measures IO with a worker process, too. */
  readonly remote: boolean;
  /** A stage begins. */
  onStage(stage: StageName): void;
}

/** All stages of a subject, one after the other, never two at a time. */
export async function measureStages(
  subject: Subject,
  { remote, onStage, ...how }: MeasureOptions,
): Promise<MeasuredStage[]> {
  const { models, mix, settings } = subject;
  const sloNs = benchSloNs(subject, chosenBatches(subject), how.clients);
  const load: ClientLoad = { ...how, models: models.map(({ spec }) => spec.name), mix, sloNs };
  // The frontend, the decoding of tensors, the scheduler and the way to a device that takes no time and back.
  const instant = machineOf(subject, true);
  const served = (stage: 'io' | 'full', gpu = instant) =>
    withChild({ kind: 'server', gpu, settings }, (server) =>
      loadServer(stage, { ...server, helpers: [] }, load),
    );
  const stages: Record<StageName, () => Promise<MeasuredStage>> = {
    io: () => served('io'),
    // The same with that device in a process of its own, behind the stream between machines.
    remote: () =>
      withChild({ kind: 'worker', machine: instant }, (worker) =>
        withChild({ kind: 'server', gpu: `127.0.0.1:${worker.ports.worker}`, settings }, (server) =>
          loadServer('remote', { ...server, helpers: [worker.child] }, load),
        ),
      ),
    synthetic: () => measureSynthetic(subject, how),
    full: () => served('full', machineOf(subject, false)),
  };
  const measured: MeasuredStage[] = [];
  for (const [stage, measure] of Object.entries(stages) as [StageName, () => Promise<MeasuredStage>][]) {
    if (stage === 'remote' && !remote) continue;
    onStage(stage);
    measured.push(await measure());
  }
  return measured;
}

/** The device by itself. */
function measureSynthetic(
  subject: Subject,
  { trials, seconds }: Pick<ClientLoad, 'trials' | 'seconds'>,
): Promise<MeasuredStage> {
  const { device, models, mix } = subject;
  const batches = chosenBatches(subject);
  const used = models.flatMap(({ spec: { name, batchSizes }, signature, ortPath }, m) => {
    if (mix[m] === 0 || ortPath === null) return [];
    const batchSize = batchSizes[batches[m]];
    return [{ name, ortPath, signature: atLongest(signature), batchSize, share: mix[m] }];
  });
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
    const otherCores = Math.max(0, busyCores - cores);
    return { stage: 'synthetic', throughputRps, p50Ms: [], p99Ms: [], service: null, otherCores };
  });
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

/** Passes of the same subject as if their trials were of one. At least one pass. */
export function joinPasses(passes: readonly (readonly MeasuredStage[])[]): MeasuredStage[] {
  return passes[0].map((_, i) => joinStage(passes.map((stages) => stages[i])));
}

/** Trials side by side; of all else the mean, to which each pass contributes by its trials. */
function joinStage(parts: readonly MeasuredStage[]): MeasuredStage {
  const trials = parts.reduce((sum, { throughputRps }) => sum + throughputRps.length, 0);
  const meanOf = (of: (part: MeasuredStage) => number) =>
    parts.reduce((sum, part) => sum + of(part) * part.throughputRps.length, 0) / trials;
  const serviceOf = (of: (service: Service) => number) =>
    meanOf(({ service }) => (service === null ? 0 : of(service)));
  return {
    stage: parts[0].stage,
    throughputRps: parts.flatMap(({ throughputRps }) => throughputRps),
    p50Ms: parts.flatMap(({ p50Ms }) => p50Ms),
    p99Ms: parts.flatMap(({ p99Ms }) => p99Ms),
    service: parts[0].service && {
      generator: {
        busy: serviceOf(({ generator }) => generator.busy),
        cores: serviceOf(({ generator }) => generator.cores),
      },
      server: {
        busy: serviceOf(({ server }) => server.busy),
        cores: serviceOf(({ server }) => server.cores),
      },
      failedShare: serviceOf(({ failedShare }) => failedShare),
      meanBatch: serviceOf(({ meanBatch }) => meanBatch),
      deviceBusy: serviceOf(({ deviceBusy }) => deviceBusy),
    },
    otherCores: meanOf(({ otherCores }) => otherCores),
  };
}
