import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { simulate } from '../../src/run/simulated.js';
import { load } from '../config/experiment-files.js';

/** Two groups with an SLO each, and models that do not all fit. */
export const EXPERIMENT = `seed: 5
cluster: { gpus: 2, pages: 30 }
models: { kind: fit, name: model, parameters: 25.6M, copies: 8 }
workload:
  - { name: tight, kind: poisson, rate: 300/s, duration: 1.5s, slo: 25ms }
  - { name: loose, kind: gamma, rate: 200/s, cv: 3, duration: 1.5s, slo: 200ms }
policy: { kind: clockwork, scheduleAhead: 4ms }
warmup: 100ms
`;

/** Simulates and leaves run.json and the logs in a new folder, as the command line does. */
export async function simulateInto(overrides: readonly string[] = []): Promise<string> {
  const dir = mkdtempSync(join(tmpdir(), 'escapement-audit-'));
  const result = await simulate(await load(EXPERIMENT, overrides), {
    outDir: dir,
    percentiles: [33.3, 99.5],
  });
  writeFileSync(join(dir, 'run.json'), JSON.stringify(result));
  return dir;
}

/** A row of a log by column. */
export type Row = Record<string, number>;

/** Reads a log, and writes it again with what `change` makes of its rows. */
export function changeLog(from: string, to: string, change: (rows: Row[]) => Row[]): void {
  const [header, ...lines] = readFileSync(from, 'utf8').trimEnd().split('\n');
  const names = header.split('\t');
  const rows = lines.map((line) => {
    const fields = line.split('\t').map(Number);
    return Object.fromEntries(names.map((name, i) => [name, fields[i]]));
  });
  const changed = change(rows).map((row) => names.map((name) => row[name]).join('\t'));
  writeFileSync(to, `${[header, ...changed].join('\n')}\n`);
}
