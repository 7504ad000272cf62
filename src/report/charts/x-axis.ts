import type { AxisValue } from '../axes.js';

/** Values that span more than a factor of 20 read best on a logarithmic axis. */
export function xScale(values: readonly AxisValue[]) {
  const [low, high] = rangeOf(values);
  const logarithmic = low > 0 && high / low > 20;
  const pad = logarithmic ? (high / low) ** 0.02 : (high - low) * 0.02 || 1;
  const domain = logarithmic ? [low / pad, high * pad] : [low - pad, high + pad];
  return { domain, nice: false, ...(logarithmic ? { type: 'log' } : { type: 'linear', zero: false }) };
}

/** A tick at each value if they are few. */
export function xAxis(values: readonly AxisValue[]) {
  const few = values.length <= 12 ? { values: values.map(({ at }) => at) } : {};
  return { grid: false, labelOverlap: 'greedy', format: '~f', ...few };
}

/** The lowest and the highest value. */
export function rangeOf(values: readonly AxisValue[]): [number, number] {
  return [Math.min(...values.map(({ at }) => at)), Math.max(...values.map(({ at }) => at))];
}
