import type { Usage } from './child/messages.js';
import type { MeasuredStages } from './measure-stages.js';
import type { DeviceStage, ServedStage } from './stage.js';

/** Passes of the same subject as if their trials were of one. At least one pass. */
export function joinPasses(passes: readonly MeasuredStages[]): MeasuredStages {
  const remotes = passes.flatMap(({ remote }) => remote ?? []);
  return {
    io: joinServed(passes.map(({ io }) => io)),
    remote: remotes.length === 0 ? null : joinServed(remotes),
    synthetic: joinDevice(passes.map(({ synthetic }) => synthetic)),
    full: joinServed(passes.map(({ full }) => full)),
  };
}

function joinServed(parts: readonly ServedStage[]): ServedStage {
  const meanOf = meanOver(parts);
  const usage = (of: (part: ServedStage) => Usage): Usage => ({
    busy: meanOf((part) => of(part).busy),
    cores: meanOf((part) => of(part).cores),
  });
  return {
    stage: parts[0].stage,
    throughputRps: parts.flatMap(({ throughputRps }) => throughputRps),
    p50Ms: parts.flatMap(({ p50Ms }) => p50Ms),
    p99Ms: parts.flatMap(({ p99Ms }) => p99Ms),
    service: {
      generator: usage(({ service }) => service.generator),
      server: usage(({ service }) => service.server),
      failedShare: meanOf(({ service }) => service.failedShare),
      meanBatch: meanOf(({ service }) => service.meanBatch),
      deviceBusy: meanOf(({ service }) => service.deviceBusy),
    },
    otherCores: meanOf(({ otherCores }) => otherCores),
  };
}

function joinDevice(parts: readonly DeviceStage[]): DeviceStage {
  return {
    stage: 'synthetic',
    throughputRps: parts.flatMap(({ throughputRps }) => throughputRps),
    otherCores: meanOver(parts)(({ otherCores }) => otherCores),
  };
}

/** Means of what was measured over whole passes, each of which counts by its trials. */
function meanOver<Part extends ServedStage | DeviceStage>(
  parts: readonly Part[],
): (of: (part: Part) => number) => number {
  const trials = parts.reduce((sum, { throughputRps }) => sum + throughputRps.length, 0);
  return (of) => parts.reduce((sum, part) => sum + of(part) * part.throughputRps.length, 0) / trials;
}
