import type { Check, Fix } from '../check.js';
import { notReported, reported, reportedNumber } from './fields.js';
import { byHand, gpuCheck, type Subject, setting } from './gpu-check.js';
import type { GpuFacts } from './query.js';

/** ECC and what holds the clocks down. */
export function healthChecks(gpu: GpuFacts): Check[] {
  return [throttle(gpu), ecc(gpu)];
}

/** What the bits of the mask mean (NVML, nvmlClocksEventReasons). */
const REASONS: readonly (readonly [bigint, string])[] = [
  [0x1n, 'idle'],
  [0x2n, 'applications clocks setting'],
  [0x4n, 'software power cap'],
  [0x8n, 'hardware slowdown'],
  [0x10n, 'sync boost'],
  [0x20n, 'software thermal slowdown'],
  [0x40n, 'hardware thermal slowdown'],
  [0x80n, 'hardware power brake'],
  [0x100n, 'display clock setting'],
];
/** Idle, and what was set on purpose. */
const HARMLESS = 0x3n;
const POWER_CAP = 0x4n;
const HEAT = 0x60n;

/** The reasons in a mask such as `0x0000000000000005`, in words; bits without a name as a number. */
export function throttleReasons(mask: bigint): string[] {
  const named = REASONS.filter(([bit]) => (mask & bit) !== 0n);
  const rest = named.reduce((left, [bit]) => left & ~bit, mask);
  return [...named.map(([, text]) => text), ...(rest === 0n ? [] : [`unknown (0x${rest.toString(16)})`])];
}

function throttle(gpu: GpuFacts): Check {
  const subject: Subject = {
    key: 'throttle',
    title: 'throttle reasons',
    requiredFor: ['worker'],
    wanted: 'none, or idle, or the applications clocks setting',
    why: 'Throttling makes every INFER longer than its profile says, at unpredictable times.',
  };
  const text = reported(gpu.row, 'throttle');
  if (text === null || !/^0x[0-9a-fA-F]{1,16}$/.test(text)) {
    const found = text === null ? notReported(gpu.row, 'throttle') : `nvidia-smi says: ${text}`;
    return gpuCheck(gpu, subject, { status: 'skipped', found });
  }
  const mask = BigInt(text);
  const found = mask === 0n ? 'none' : throttleReasons(mask).join(', ');
  if ((mask & ~HARMLESS) === 0n) return gpuCheck(gpu, subject, { status: 'ok', found });
  return gpuCheck(gpu, subject, { status: 'failed', found, fix: relief(gpu, mask) });
}

function relief(gpu: GpuFacts, mask: bigint): Fix | null {
  if ((mask & HEAT) !== 0n) return byHand('improve its cooling, or lock its clocks lower');
  return (mask & POWER_CAP) === 0n ? null : morePower(gpu);
}

function morePower(gpu: GpuFacts): Fix {
  const limitW = reportedNumber(gpu.row, 'powerLimitW');
  const mostW = reportedNumber(gpu.row, 'powerMaxLimitW');
  return limitW !== null && mostW !== null && limitW < mostW
    ? setting(gpu, `-pl ${mostW}`)
    : byHand('its power limit is at the maximum: lock its clocks lower');
}

function ecc(gpu: GpuFacts): Check {
  const subject: Subject = {
    key: 'ecc',
    title: 'ECC',
    requiredFor: [],
    wanted: 'no uncorrected errors',
    why: 'An uncorrected error kills the process that hits it, and a board that had one should be inspected.',
  };
  const mode = reported(gpu.row, 'eccMode');
  if (mode !== 'Enabled') {
    // Without ECC there are no counts.
    const found = mode === null ? notReported(gpu.row, 'eccMode') : 'off';
    return gpuCheck(gpu, subject, { status: mode === null ? 'skipped' : 'ok', found });
  }
  const corrected = reportedNumber(gpu.row, 'eccCorrected');
  const uncorrected = reportedNumber(gpu.row, 'eccUncorrected');
  const counts = `${corrected ?? '?'} corrected and ${uncorrected ?? '?'} uncorrected errors`;
  const found = `on, ${counts} since the driver was loaded`;
  if ((uncorrected ?? 0) === 0) return gpuCheck(gpu, subject, { status: 'ok', found });
  const fix = byHand('reboot, which retires bad memory; if the errors come back, replace the GPU');
  return gpuCheck(gpu, subject, { status: 'failed', found, fix });
}
