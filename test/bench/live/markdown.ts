import type { Profile } from '../../../src/config/profile.js';
import type { FidelityRun, Figures } from './fidelity.js';

/** Results of benchmarks as Markdown tables. */

export function profileTable(profiles: readonly Profile[]): string {
  const rows = profiles.flatMap(({ name, loadMs, loadP99Ms, batches }) => [
    [name, 'LOAD', ms(loadMs), loadP99Ms === undefined ? '' : ms(loadP99Ms), '', ''],
    ...batches.map(({ batch, medianMs, p99Ms = medianMs, runs = 0 }) => [
      name,
      `INFER, batch ${batch}`,
      ms(medianMs),
      ms(p99Ms),
      (p99Ms / medianMs).toFixed(2),
      runs,
    ]),
  ]);
  return table(['model', 'action', 'median ms', 'p99 ms', 'p99 / median', 'runs'], rows);
}

/**
 * Medians over the repetitions; of live figures also the smallest and largest, of differences the median of all pairs. First
 * from what was measured before, then with the durations of the live run itself.
 */
export function fidelityTable(runs: readonly FidelityRun[]): string {
  const loads = [...new Set(runs.map(({ load }) => load))];
  const rows = loads.flatMap((load) => {
    const row = runs.filter((one) => one.load === load);
    return [
      [`${Math.round(100 * load)} %`, 'goodput, requests/s', ...compared(row, 'goodputRps', 1, 1, relative)],
      ['', 'in time, %', ...compared(row, 'attainment', 100, 2, points)],
      ['', 'p50, ms', ...compared(row, 'p50Ms', 1, 1, relative)],
      ['', 'p99, ms', ...compared(row, 'p99Ms', 1, 1, relative)],
    ];
  });
  return table(
    ['load', '', 'live', 'simulated before', 'off by', 'simulated with its durations', 'off by'],
    rows,
  );
}

function compared(
  runs: readonly FidelityRun[],
  figure: keyof Figures,
  scale: number,
  decimals: number,
  difference: (live: number, simulated: number) => number,
): string[] {
  const text = (value: number) => (scale * value).toFixed(decimals);
  const live = runs.map((one) => one.live[figure]).toSorted((a, b) => a - b);
  const ends = `(${text(live[0])} to ${text(live[live.length - 1])})`;
  const simulated = (by: 'simulated' | 'resimulated') => {
    const middle = median(runs.map((one) => difference(one.live[figure], one[by][figure])));
    const sign = middle < 0 ? '−' : '+';
    const off = (100 * Math.abs(middle)).toFixed(difference === points ? 2 : 1);
    return [
      text(median(runs.map((one) => one[by][figure]))),
      `${sign}${off} ${difference === points ? 'points' : '%'}`,
    ];
  };
  return [
    live.length === 1 ? text(live[0]) : `${text(median(live))} ${ends}`,
    ...simulated('simulated'),
    ...simulated('resimulated'),
  ];
}

function relative(live: number, simulated: number): number {
  return simulated / live - 1;
}

/** Percentage points, over 100. */
function points(live: number, simulated: number): number {
  return simulated - live;
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];
}

function ms(value: number): string {
  return value.toPrecision(3);
}

export function table(header: readonly string[], rows: readonly (readonly (string | number)[])[]): string {
  const lines = [header, header.map(() => '---'), ...rows];
  return `${lines.map((row) => `| ${row.join(' | ')} |`).join('\n')}\n`;
}
