import { NS_PER_MS } from '../../../src/base/units.js';
import type { Profile } from '../../../src/config/profile.js';
import type { IdleFigures } from './delays.js';
import type { FidelityRow } from './fidelity.js';

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

export function fidelityTable(rows: readonly FidelityRow[]): string {
  return table(
    [
      'load',
      'goodput/s live',
      'simulated',
      '',
      'p50 ms live',
      'simulated',
      '',
      'p99 ms live',
      'simulated',
      '',
    ],
    rows.map(({ load, live, simulated }) => [
      `${Math.round(100 * load)} %`,
      ...pair(live.goodputRps, simulated.goodputRps),
      ...pair(live.p50Ms, simulated.p50Ms),
      ...pair(live.p99Ms, simulated.p99Ms),
    ]),
  );
}

export function idleTable({ there, back, added }: IdleFigures): string {
  const row = (what: string, [p50, p99]: readonly [number, number]) => [
    what,
    ms(p50 / NS_PER_MS),
    ms(p99 / NS_PER_MS),
  ];
  return table(
    ['with one request at a time', 'p50 ms', 'p99 ms'],
    [
      row('from sending an INFER to its begin', there),
      row('from its end to its result', back),
      row('latency beyond the INFER itself', added),
    ],
  );
}

function pair(live: number, simulated: number): string[] {
  return [figure(live), figure(simulated), difference(simulated / live - 1)];
}

function difference(share: number): string {
  return `${share < 0 ? '−' : '+'}${(100 * Math.abs(share)).toFixed(1)} %`;
}

function figure(value: number): string {
  return value.toFixed(1);
}

function ms(value: number): string {
  return value.toPrecision(3);
}

export function table(header: readonly string[], rows: readonly (readonly (string | number)[])[]): string {
  const lines = [header, header.map(() => '---'), ...rows];
  return `${lines.map((row) => `| ${row.join(' | ')} |`).join('\n')}\n`;
}
