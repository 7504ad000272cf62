import type { FigureUnit } from '../../record/figures.js';
import { formatCount, formatMs, formatPercent, formatRate, round3, significant } from '../../text/numbers.js';
import { priceText } from '../cost-text.js';
import type { ComparedFigure } from './figures.js';

/** Value of run `i`: `480/s`, `98.2 %`, `12.4 ms`, `1,204`; `–` if there was nothing to measure. */
export function valueText({ unit, values }: ComparedFigure, i: number): string {
  const value = values[i] ?? null;
  return value === null ? '–' : FORMATS[unit](value);
}

/** Difference of run `i` from the first: `+2.3 ms`, `-1.2 pp` for a share, `=`, or `-1.2 pp ± 0.3` with an interval. */
export function differenceText({ unit, differences, margins }: ComparedFigure, i: number): string {
  const difference = differences[i] ?? null;
  if (difference === null) return '–';
  if (difference === 0) return '=';
  const size = Math.abs(difference);
  const margin = margins[i] ?? null;
  const text = `${signOf(difference)}${unit === 'share' ? `${hundredths(size)} pp` : FORMATS[unit](size)}`;
  if (margin === null) return text;
  return `${text} ± ${unit === 'share' ? hundredths(margin) : formatRate(significant(margin, 2))}`;
}

/** Relative difference from the first: `+7.1 %`; `from 0`. Empty for a share: percentages of percentages mislead. */
export function relativeText({ unit, differences, relative }: ComparedFigure, i: number): string {
  const difference = differences[i] ?? null;
  const share = relative[i] ?? null;
  if (difference === null) return '–';
  if (difference === 0) return '=';
  if (unit === 'share') return '';
  return share === null ? 'from 0' : `${signOf(share)}${hundredths(Math.abs(share))} %`;
}

/** Values of the first run and of run `i`, and their difference: `goodput 400/s → 352/s (-48/s ± 3.1, -12.0 %)`. */
export function changeText(figure: ComparedFigure, i: number): string {
  const texts = [differenceText(figure, i), relativeText(figure, i)];
  const changes = [...new Set(texts.filter((text) => text !== '' && text !== '–'))];
  const change = changes.length === 0 ? '' : ` (${changes.join(', ')})`;
  return `${figure.label} ${valueText(figure, 0)} → ${valueText(figure, i)}${change}`;
}

/** A value with its unit. */
const FORMATS: Readonly<Record<FigureUnit, (value: number) => string>> = {
  ms: formatMs,
  share: formatPercent,
  count: formatCount,
  perSecond: (value) => `${formatRate(value)}/s`,
  hours: (value) => `${round3(value)} h`,
  price: priceText,
};

/** A share as a percentage, which may exceed 100. A small change is not rounded to none. */
function hundredths(share: number): string {
  const percent = share * 100;
  if (percent >= 100) return formatCount(percent);
  return percent >= 1 ? percent.toFixed(1) : String(significant(percent, 1));
}

function signOf(value: number): string {
  return value < 0 ? '-' : '+';
}
