import { formatCount, formatMs, formatPercent, formatRate } from '../text/numbers.js';
import type { CellText } from './document.js';

/** Cells of numbers, which sort by value; `–` comes first. */
export function numberCell(format: (value: number | null) => string) {
  return (value: number | null): CellText => ({ text: format(value), sort: value ?? -1 });
}

export const percentCell = numberCell(formatPercent);
export const rateCell = numberCell(formatRate);
export const msCell = numberCell(formatMs);
export const countCell = (value = 0): CellText => ({ text: formatCount(value), sort: value });
