import type { Check } from '../check.js';
import { notReported, reported, reportedNumber } from './fields.js';
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
    why: 'With auto boost, the clock and so the duration of an INFER depend on the temperature.',
  };
  if (gpu.autoBoost === null) {
    return gpuCheck(gpu, subject, { status: 'skipped', found: 'this GPU does not have it' });
  }
  const fix = setting(gpu, '--auto-boost-default=0');
  if (!gpu.autoBoost) return gpuCheck(gpu, subject, isSet('off', fix));
  return gpuCheck(gpu, subject, { status: 'failed', found: 'on', fix });
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
    why: 'The GPU runs models at these clocks: profiles measured at other clocks do not apply.',
  };
  const memoryMhz = reportedNumber(row, 'applicationsMemoryMhz');
  const graphicsMhz = reportedNumber(row, 'applicationsGraphicsMhz');
  if (memoryMhz === null || graphicsMhz === null) {
    const found = `cannot be set (${notReported(row, 'applicationsGraphicsMhz')}): lock the clocks instead`;
    return gpuCheck(gpu, subject, { status: 'skipped', found });
  }
  const found = clocksText(memoryMhz, graphicsMhz);
  if (highest === null) {
    const why = `${found}; this driver does not list the supported clocks`;
    return gpuCheck(gpu, subject, { status: 'skipped', found: why });
  }
  const fix = setting(gpu, `-ac ${highest.memoryMhz},${highest.graphicsMhz}`);
  if (memoryMhz < highest.memoryMhz || graphicsMhz < highest.graphicsMhz) {
    return gpuCheck(gpu, subject, { status: 'failed', found, fix });
  }
  // New GPUs have them at the maximum, and a reboot restores that.
  const byDefault =
    reportedNumber(row, 'defaultApplicationsMemoryMhz') === memoryMhz &&
    reportedNumber(row, 'defaultApplicationsGraphicsMhz') === graphicsMhz;
  return gpuCheck(gpu, subject, byDefault ? { status: 'ok', found } : isSet(found, fix));
}

function lockedClocks(gpu: GpuFacts): Check {
  const highestMhz = gpu.highest?.graphicsMhz ?? reportedNumber(gpu.row, 'maxGraphicsMhz');
  const subject: Subject = {
    key: 'clocks-locked',
    title: 'clocks locked',
    // Application clocks fix the clock as well while a process holds the GPU.
    requiredFor: reportedNumber(gpu.row, 'applicationsGraphicsMhz') === null ? ['worker'] : [],
    wanted: `no drop while idle${highestMhz === null ? '' : ` (highest: ${highestMhz} MHz)`}`,
    why:
      'A clock that drops between requests makes the next ones late until it is up again. nvidia-smi does ' +
      'not show locks, so this check reads the clock of an idle GPU.',
  };
  return gpuCheck(gpu, subject, judgeLock(gpu, highestMhz));
}

/**
 * Idle GPUs drop to a fourth of their highest clock or less (V100: 135 of 1530 MHz, H200: 345 of 1980 MHz);
 * one whose clock stays above half of it with nothing running is locked there. The reading may be one step off the locked
 * clock, and that it is locked matters more than where.
 */
const HELD_SHARE = 0.5;

function judgeLock(gpu: GpuFacts, highestMhz: number | null): Finding {
  const { row } = gpu;
  if (!canLock(gpu)) return { status: 'skipped', found: 'needs a GPU of the Volta generation or newer' };
  const nowMhz = reportedNumber(row, 'graphicsMhz');
  if (nowMhz === null || highestMhz === null) {
    return { status: 'skipped', found: notReported(row, nowMhz === null ? 'graphicsMhz' : 'maxGraphicsMhz') };
  }
  if (gpu.processes === null) {
    return { status: 'skipped', found: `${nowMhz} MHz, but it is unknown whether the GPU is idle` };
  }
  if (gpu.processes.length > 0 || (reportedNumber(row, 'utilizationPercent') ?? 0) > 0) {
    return {
      status: 'skipped',
      found: `${nowMhz} MHz, but the GPU is in use: check again when it is idle`,
    };
  }
  const fix = setting(gpu, `-lgc ${highestMhz},${highestMhz}`);
  const found = `${nowMhz} MHz while idle`;
  return nowMhz >= HELD_SHARE * highestMhz ? isSet(found, fix) : { status: 'failed', found, fix };
}

/** Of drivers too old to say the generation, only Kepler and Maxwell are known: they have auto boost. */
function canLock(gpu: GpuFacts): boolean {
  const capability = reported(gpu.row, 'computeCapability');
  return gpu.autoBoost === null && (capability === null || Number.parseFloat(capability) >= VOLTA);
}

const VOLTA = 7;

function clocksText(memoryMhz: number, graphicsMhz: number): string {
  return `memory ${memoryMhz} MHz, graphics ${graphicsMhz} MHz`;
}
