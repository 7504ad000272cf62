import type { Check } from '../check.js';
import { told, toldNumber, untold } from './fields.js';
import { type Finding, gpuCheck, isSet, type Subject, setting } from './gpu-check.js';
import type { GpuFacts } from './query.js';

/** Auto boost, application clocks and locked clocks: three ways of one clock moving. */
export function clockChecks(gpu: GpuFacts): Check[] {
  return [autoBoost(gpu), applicationClocks(gpu), lockedClocks(gpu)];
}

function autoBoost(gpu: GpuFacts): Check {
  const subject: Subject = {
    key: 'auto-boost',
    title: 'auto boost',
    requiredFor: ['worker'],
    wanted: 'off',
    why: 'With it the clock follows the temperature of the moment, and so does the duration of an INFER.',
  };
  if (gpu.autoBoost === null) {
    return gpuCheck(gpu, subject, { status: 'skipped', found: 'this GPU has no such setting' });
  }
  const mend = setting(gpu, '--auto-boost-default=0');
  if (!gpu.autoBoost) return gpuCheck(gpu, subject, isSet('off', mend));
  return gpuCheck(gpu, subject, { status: 'failed', found: 'on', mend });
}

function applicationClocks(gpu: GpuFacts): Check {
  const { row, highest } = gpu;
  const subject: Subject = {
    key: 'application-clocks',
    title: 'application clocks',
    requiredFor: ['worker'],
    wanted:
      highest === null
        ? 'the highest supported'
        : `${clocksText(highest.memoryMhz, highest.graphicsMhz)}, the highest supported`,
    why: 'They are the clocks that the GPU aims at while models run: profiles measured at others do not hold.',
  };
  const memoryMhz = toldNumber(row, 'applicationsMemoryMhz');
  const graphicsMhz = toldNumber(row, 'applicationsGraphicsMhz');
  if (memoryMhz === null || graphicsMhz === null) {
    const found = `cannot be set (${untold(row, 'applicationsGraphicsMhz')}): lock the clocks instead`;
    return gpuCheck(gpu, subject, { status: 'skipped', found });
  }
  const found = clocksText(memoryMhz, graphicsMhz);
  if (highest === null) {
    const why = `${found}; this driver does not list the supported clocks`;
    return gpuCheck(gpu, subject, { status: 'skipped', found: why });
  }
  const mend = setting(gpu, `-ac ${highest.memoryMhz},${highest.graphicsMhz}`);
  if (memoryMhz < highest.memoryMhz || graphicsMhz < highest.graphicsMhz) {
    return gpuCheck(gpu, subject, { status: 'failed', found, mend });
  }
  // New GPUs come with them as high as they go, and a reboot restores that.
  const byDefault =
    toldNumber(row, 'defaultApplicationsMemoryMhz') === memoryMhz &&
    toldNumber(row, 'defaultApplicationsGraphicsMhz') === graphicsMhz;
  return gpuCheck(gpu, subject, byDefault ? { status: 'ok', found } : isSet(found, mend));
}

function lockedClocks(gpu: GpuFacts): Check {
  const highestMhz = gpu.highest?.graphicsMhz ?? toldNumber(gpu.row, 'maxGraphicsMhz');
  const subject: Subject = {
    key: 'clocks-locked',
    title: 'clocks locked',
    // Application clocks fix the clock as well while a process holds the GPU.
    requiredFor: toldNumber(gpu.row, 'applicationsGraphicsMhz') === null ? ['worker'] : [],
    wanted: `no fall while nothing runs${highestMhz === null ? '' : ` (highest: ${highestMhz} MHz)`}`,
    why:
      'A clock that falls between requests makes the next ones late until it has risen again. nvidia-smi does ' +
      'not show locks, so this is judged by the clock of a GPU on which nothing runs.',
  };
  return gpuCheck(gpu, subject, judgeLock(gpu, highestMhz));
}

/**
 * Idle GPUs drop to a fourth of their highest clock or less (V100: 135 of 1530 MHz, H200: 345 of 1980 MHz);
 * one whose clock stays above half of it with nothing running is being held there. It may read a step off
 * what it was locked at, and where it is locked matters less than that it is.
 */
const HELD_SHARE = 0.5;

function judgeLock(gpu: GpuFacts, highestMhz: number | null): Finding {
  const { row } = gpu;
  if (!canLock(gpu)) return { status: 'skipped', found: 'needs a GPU of the Volta generation or newer' };
  const nowMhz = toldNumber(row, 'graphicsMhz');
  if (nowMhz === null || highestMhz === null) {
    return { status: 'skipped', found: untold(row, nowMhz === null ? 'graphicsMhz' : 'maxGraphicsMhz') };
  }
  if (gpu.processes === null) {
    return { status: 'skipped', found: `${nowMhz} MHz, but whether anything runs is not known` };
  }
  if (gpu.processes.length > 0 || (toldNumber(row, 'utilizationPercent') ?? 0) > 0) {
    return {
      status: 'skipped',
      found: `${nowMhz} MHz, but it is in use: look again when nothing runs on it`,
    };
  }
  const mend = setting(gpu, `-lgc ${highestMhz},${highestMhz}`);
  const found = `${nowMhz} MHz while nothing runs`;
  return nowMhz >= HELD_SHARE * highestMhz ? isSet(found, mend) : { status: 'failed', found, mend };
}

/** Of drivers too old to say the generation, only Kepler and Maxwell are known: they have auto boost. */
function canLock(gpu: GpuFacts): boolean {
  const capability = told(gpu.row, 'computeCapability');
  return gpu.autoBoost === null && (capability === null || Number.parseFloat(capability) >= VOLTA);
}

const VOLTA = 7;

function clocksText(memoryMhz: number, graphicsMhz: number): string {
  return `memory ${memoryMhz} MHz, graphics ${graphicsMhz} MHz`;
}
