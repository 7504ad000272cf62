import type { TimeSeries, TunedSeries } from '../../record/results.js';
import { formatMs, significant } from '../../text/numbers.js';
import { type ChartSpec, chart, niceTop, STRONG, WEAK, ZOOM_TIME } from './theme.js';
import { endOf, formatSeconds, timeAxis, timeUnit } from './time-bins.js';

const WIDTH = 600;
const HEIGHT = 240;

/** A parameter tuned by the policy over time: the last value of each bin, and the range inside it. */
export function tunedOverTime(tuned: TunedSeries, series: TimeSeries, note = ''): ChartSpec {
  const { beginSeconds, binSeconds } = series;
  const endSeconds = endOf(series);
  const unit = timeUnit(endSeconds);
  const rows = tuned.values.map((value, bin) => {
    const at = significant((beginSeconds + (bin + 0.5) * binSeconds) / unit.seconds, 9);
    return { at, value, low: tuned.low[bin]!, high: tuned.high[bin]! };
  });
  const name = fieldName(tuned.name);
  const title = tuned.unit === '' ? name : `${name} (${tuned.unit})`;
  const y = {
    type: 'quantitative',
    title,
    scale: { domain: [Math.min(0, ...tuned.low), niceTop(Math.max(...tuned.high))], nice: false },
    axis: { format: ',~f', tickCount: 6 },
  } as const;
  const x = timeAxis(unit, beginSeconds, endSeconds);
  return chart(
    {
      title: `${name} over time`,
      subtitle: [
        describe(tuned),
        `line: at the end of each ${formatSeconds(binSeconds)}; band: lowest to highest inside it`,
        ...(note === '' ? [] : [note]),
      ].join(' · '),
      width: WIDTH + 80,
    },
    {
      width: WIDTH,
      height: HEIGHT,
      data: { values: rows },
      layer: [
        {
          mark: { type: 'area', color: WEAK, opacity: 0.6, clip: true, interpolate: 'step' },
          encoding: { x, y: { ...y, field: 'low' }, y2: { field: 'high' } },
        },
        {
          params: [ZOOM_TIME],
          mark: { type: 'line', color: STRONG, strokeWidth: 1.8, clip: true, interpolate: 'step' },
          encoding: { x, y: { ...y, field: 'value' } },
        },
      ],
    },
  );
}

/** Spelling of the literature: `scheduleAhead` is `schedule_ahead`. */
function fieldName(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

function describe({ values, low, high, unit }: TunedSeries): string {
  const text = (value: number) => (unit === 'ms' ? formatMs(value) : String(significant(value, 3)));
  return `from ${text(values[0]!)} to ${text(values.at(-1)!)}, between ${text(Math.min(...low))} and ${text(Math.max(...high))}`;
}
