import { formatPercentCell } from '../../text/numbers.js';

/** Figures in few cells: three digits, and a letter for what is large. */

export const NOTHING = '–';

/** A whole number in at most five cells. */
export function count(value: number): string {
  return value < 9_999.5 ? value.toFixed(0) : large(value);
}

/** Per second, in at most five cells. */
export function rate(perS: number): string {
  if (perS >= 9_999.5) return large(perS);
  return perS >= 100 || perS === 0 ? perS.toFixed(0) : threeDigits(perS);
}

/** Milliseconds without the unit; seconds, with it, from ten on. */
export function milliseconds(ms: number): string {
  return ms >= 9_999.5 ? `${threeDigits(ms / 1000)}s` : ms >= 100 ? ms.toFixed(0) : threeDigits(ms);
}

/** Per cent without the sign; 0.0 only for none, 100 only for all of it. */
export function percent(share: number): string {
  return share >= 1 ? '100' : formatPercentCell(share);
}

/** `3:07`, `1:03:07`, `2 d 1:03:07`. */
export function elapsed(seconds: number): string {
  const whole = Math.floor(seconds);
  const two = (value: number) => String(value % 60).padStart(2, '0');
  const days = Math.floor(whole / 86_400);
  const hours = Math.floor((whole % 86_400) / 3600);
  const minutes = Math.floor(whole / 60);
  const clock =
    days === 0 && hours === 0 ? `${minutes}:${two(whole)}` : `${hours}:${two(minutes)}:${two(whole)}`;
  return days === 0 ? clock : `${days} d ${clock}`;
}

/** Answers in time among all answers; null: there were none. */
export function attainment({
  goodputRps,
  failedRps,
}: {
  readonly goodputRps: number;
  readonly failedRps: number;
}): number | null {
  const all = goodputRps + failedRps;
  return all === 0 ? null : goodputRps / all;
}

function large(value: number): string {
  return value >= 999_500 ? `${threeDigits(value / 1e6)}M` : `${threeDigits(value / 1e3)}k`;
}

function threeDigits(value: number): string {
  return value >= 99.95 ? value.toFixed(0) : value.toFixed(value >= 9.995 ? 1 : 2);
}
