import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { gunzipSync, gzipSync } from 'node:zlib';
import { NS_PER_S } from '../../src/base/units.js';
import type { ModelSpec } from '../../src/core/model.js';
import type { CaseResult, OracleCase } from './run-case.js';
import { type LoggedAction, readActions, readRequests, readRows } from './shared-data.js';

const FOLDER = fileURLToPath(new URL('../golden/oracle/', import.meta.url));

/** The cases that are kept, and how much of each; within that time, the reference and we agree completely. */
export const REFERENCES = [
  { name: 'a_r1000_slo25_sa5', untilNs: 2 * NS_PER_S },
  { name: 'b_r300_slo100_sa10', untilNs: 3 * NS_PER_S },
] as const;

/** No decision on a request is open for longer than this after it came. */
const LONGEST_NS = NS_PER_S / 4;

/** The beginning of one logged case. */
export interface Reference {
  readonly given: OracleCase;
  /** What the published scheduler sent before the end. */
  readonly actions: readonly LoggedAction[];
  /** What became of the requests that were settled before the end, in order of arrival. */
  readonly requests: CaseResult['requests'];
  readonly untilNs: number;
}

/** The same in the file: rows instead of objects, and one profile, which all models share. */
interface StoredReference {
  readonly untilNs: number;
  readonly given: Omit<OracleCase, 'models'> & { readonly model: ModelSpec; readonly copies: number };
  /** kind, GPU, model, batch, sent. */
  readonly actions: readonly (readonly [string, number, number, number, number])[];
  /** Outcome, latency. */
  readonly requests: readonly (readonly [string, number])[];
}

export function readReference(name: string): Reference {
  const stored = JSON.parse(gunzipSync(readFileSync(pathOf(name))).toString()) as StoredReference;
  const { model, copies, ...given } = stored.given;
  return {
    untilNs: stored.untilNs,
    given: { ...given, models: Array.from({ length: copies }, (_, i) => ({ ...model, name: String(i) })) },
    actions: stored.actions.map(([kind, gpu, of, batch, sentNs]) => ({
      kind,
      gpu,
      model: of,
      batch,
      sentNs,
    })),
    requests: stored.requests.map(([outcome, latencyNs]) => ({ outcome, latencyNs })),
  };
}

/** Cuts the references out of the logs again. Needs the shared data. */
export function makeReferences(): void {
  mkdirSync(FOLDER, { recursive: true });
  const rows = readRows();
  for (const { name, untilNs } of REFERENCES) {
    const row = rows.find((candidate) => candidate.name === name);
    if (row === undefined) throw new Error(`results.csv has no case ${name}`);
    const arrivals = row.arrivals.filter(([timeNs]) => timeNs < untilNs);
    const settled = arrivals.filter(([timeNs]) => timeNs < untilNs - LONGEST_NS).length;
    const { models, gpus, pages, sloNs, scheduleAheadNs, latestDeltaNs, maxBatch } = row;
    const stored: StoredReference = {
      untilNs,
      given: {
        model: models[0],
        copies: models.length,
        gpus,
        pages,
        sloNs,
        scheduleAheadNs,
        latestDeltaNs,
        maxBatch,
        arrivals,
      },
      actions: readActions(row)
        .filter(({ sentNs }) => sentNs < untilNs)
        .map(({ kind, gpu, model, batch, sentNs }) => [kind, gpu, model, batch, sentNs] as const),
      requests: readRequests(row)
        .slice(0, settled)
        .map(({ outcome, latencyNs }) => [outcome, latencyNs] as const),
    };
    const bytes = gzipSync(JSON.stringify(stored), { level: 9 });
    if (!existsSync(pathOf(name)) || !bytes.equals(readFileSync(pathOf(name))))
      writeFileSync(pathOf(name), bytes);
  }
}

function pathOf(name: string): string {
  return `${FOLDER}${name}.json.gz`;
}
