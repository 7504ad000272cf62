import type { TimeSeries } from '../../record/results.js';
import { significant } from '../../text/numbers.js';

/** Unit of a time axis. */
interface TimeUnit {
  readonly name: string;
  readonly seconds: number;
}

/** Rates of a run that a line can show. */
type Rate = 'offeredRps' | 'goodputRps' | 'failedRps';

/** Unit in which an axis up to `seconds` has short numbers. */
export function timeUnit(seconds: number): TimeUnit {
  if (seconds > 3 * 3600) return { name: 'h', seconds: 3600 };
  return seconds > 10 * 60 ? { name: 'min', seconds: 60 } : { name: 's', seconds: 1 };
}

/** Nominal end of a series, seconds. */
export function endOf({ beginSeconds, binSeconds, offeredRps }: TimeSeries): number {
  return beginSeconds + offeredRps.length * binSeconds;
}

/** Number of bins of a series per point, so that there are at most `most` points. */
export function binsPerPoint({ offeredRps }: TimeSeries, most: number): number {
  return Math.max(1, Math.ceil(offeredRps.length / most));
}

/** One rate of a run with a point at the middle of every `bins` bins. */
export function ratePoints(
  series: TimeSeries,
  rate: Rate,
  bins: number,
  unit: TimeUnit,
): { readonly at: number; readonly rps: number }[] {
  const width = series.binSeconds * bins;
  return averaged(series[rate], bins).map((rps, i) => ({
    rps,
    at: significant((series.beginSeconds + (i + 0.5) * width) / unit.seconds, 9),
  }));
}

/** X encoding of a chart over time. */
export function timeAxis(unit: TimeUnit, beginSeconds: number, endSeconds: number) {
  return {
    field: 'at',
    type: 'quantitative',
    title: `time since the start (${unit.name})`,
    scale: {
      nice: false,
      zero: false,
      domain: [beginSeconds / unit.seconds, endSeconds / unit.seconds],
    },
    axis: { grid: false, format: ',~f' },
  } as const;
}

export function formatSeconds(seconds: number): string {
  if (seconds < 1) return `${significant(seconds * 1000, 6)} ms`;
  return seconds < 120 ? `${significant(seconds, 6)} s` : `${significant(seconds / 60, 3)} min`;
}

function averaged(values: readonly number[], bin: number): number[] {
  const result: number[] = [];
  for (let i = 0; i < values.length; i += bin) {
    const part = values.slice(i, i + bin);
    result.push(part.reduce((sum, value) => sum + value, 0) / part.length);
  }
  return result;
}
