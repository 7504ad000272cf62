import { NS_PER_MS } from '../../base/units.js';
import { estimate } from '../../report/statistics.js';
import { batchRoom } from './batch-room.js';
import type { Protocol } from './child/messages.js';
import type { MeasuredStage } from './findings.js';
import type { MeasuredStages } from './measure-stages.js';
import type { BenchRun, Figure, StageSummary } from './result.js';
import type { DeviceStage, ServedStage } from './stage.js';
import { benchSloNs, chosenBatches, type Subject } from './subject.js';
import { decide } from './verdict.js';

interface RunFacts {
  readonly clients: number;
  readonly protocol: Protocol;
  /** Processors of the machine. */
  readonly cores: number;
}

/** What was measured with one value of the key that is varied, and what follows from it. */
export function benchRun(
  subject: Subject,
  value: string | null,
  { io, remote, synthetic, full }: MeasuredStages,
  { clients, protocol, cores }: RunFacts,
): BenchRun {
  const { models, mix, device, settings } = subject;
  const batches = chosenBatches(subject);
  const sloNs = benchSloNs(subject, batches, clients);
  return {
    value,
    clients,
    sloMs: sloNs / NS_PER_MS,
    intraOpThreads: device.session.intraOpThreads,
    precision: settings.runtime.precision,
    batchSizes: models.map(({ spec }, m) => (mix[m] > 0 ? spec.batchSizes[batches[m]] : null)),
    stages: [io, ...(remote === null ? [] : [remote]), synthetic, full].map(summarize),
    verdict: decide({
      io: finding(io),
      synthetic: estimate(synthetic.throughputRps),
      full: finding(full),
      batch: batchRoom(subject, batches),
      provider: device.kind,
      cores,
      intraOpThreads: device.session.intraOpThreads,
      precision: settings.runtime.precision,
      protocol,
      sloIsGiven: subject.sloNs !== null,
    }),
  };
}

function summarize(measured: ServedStage | DeviceStage): StageSummary {
  const { stage, otherCores } = measured;
  const throughputRps = figure(measured.throughputRps);
  if (measured.stage === 'synthetic')
    return { stage, throughputRps, p50Ms: null, p99Ms: null, service: null, otherCores };
  const { p50Ms, p99Ms, service } = measured;
  return { stage, throughputRps, p50Ms: figure(p50Ms), p99Ms: figure(p99Ms), service, otherCores };
}

function figure(trials: readonly number[]): Figure {
  return { ...estimate(trials), min: Math.min(...trials), max: Math.max(...trials), trials };
}

function finding({ throughputRps, service, otherCores }: ServedStage): MeasuredStage {
  return { throughputRps: estimate(throughputRps), service, otherCores };
}
