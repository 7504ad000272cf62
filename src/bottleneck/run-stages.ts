import { NS_PER_MS } from '../core/units.js';
import { estimate } from '../report/statistics.js';
import { batchRoom } from './batch-room.js';
import type { ClientLoad } from './clients.js';
import type { MeasuredStage } from './findings.js';
import type { BenchRun, Figure, StageSummary } from './result.js';
import type { DeviceStage, ServedStage, StageName } from './stage.js';
import { measureFull, measureIo, measureRemoteIo, measureSynthetic } from './stages.js';
import { chosenBatches, objectiveNs, type Subject } from './subject.js';
import { decide } from './verdict.js';

export interface RunOptions extends Pick<ClientLoad, 'protocol' | 'trials' | 'seconds'> {
  readonly clients: number;
  /** Measures IO with a worker process, too. */
  readonly remote: boolean;
  /** Processors of the machine. */
  readonly cores: number;
  /** A stage begins. */
  onStage(stage: StageName): void;
}

/** All stages of a subject, one after the other, never two at a time, and what follows from them. */
export async function runStages(
  subject: Subject,
  value: string | null,
  { clients, remote, cores, onStage, ...how }: RunOptions,
): Promise<BenchRun> {
  const { models, mix, device, settings } = subject;
  const batches = chosenBatches(subject);
  const sloNs = objectiveNs(subject, batches, clients);
  const load: ClientLoad = { ...how, models: models.map(({ spec }) => spec.name), mix, clients, sloNs };
  onStage('io');
  const io = await measureIo(subject, load);
  if (remote) onStage('remote');
  const remoteIo = remote ? [await measureRemoteIo(subject, load)] : [];
  onStage('synthetic');
  const synthetic = await measureSynthetic(subject, batches, load);
  onStage('full');
  const full = await measureFull(subject, load);
  return {
    value,
    clients,
    sloMs: sloNs / NS_PER_MS,
    intraOpThreads: device.session.intraOpThreads,
    precision: settings.runtime.precision,
    batchSizes: models.map(({ spec }, m) => (mix[m] > 0 ? spec.batchSizes[batches[m]] : null)),
    stages: [io, ...remoteIo, synthetic, full].map(summarize),
    verdict: decide({
      io: finding(io),
      synthetic: estimate(synthetic.requestsPerS),
      full: finding(full),
      batch: batchRoom(subject, batches),
      provider: device.kind,
      cores,
      intraOpThreads: device.session.intraOpThreads,
      precision: settings.runtime.precision,
      protocol: how.protocol,
      sloIsGiven: subject.sloNs !== null,
    }),
  };
}

function summarize(measured: ServedStage | DeviceStage): StageSummary {
  const { stage, otherCores } = measured;
  const requestsPerS = figure(measured.requestsPerS);
  if (measured.stage === 'synthetic')
    return { stage, requestsPerS, p50Ms: null, p99Ms: null, service: null, otherCores };
  const { p50Ms, p99Ms, service } = measured;
  return { stage, requestsPerS, p50Ms: figure(p50Ms), p99Ms: figure(p99Ms), service, otherCores };
}

function figure(trials: readonly number[]): Figure {
  return { ...estimate(trials), min: Math.min(...trials), max: Math.max(...trials), trials };
}

function finding({ requestsPerS, service, otherCores }: ServedStage): MeasuredStage {
  return { requestsPerS: estimate(requestsPerS), service, otherCores };
}
