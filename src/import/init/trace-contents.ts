import type { InputFiles } from '../../base/world/input-files.js';
import { readArrivals } from '../../workload/files/arrival-rows.js';
import { type Layout, type LayoutOf, openTable, type Table } from '../../workload/files/layout.js';
import { notesPath } from '../names.js';

/** Kind, models and SLOs of a trace, for an experiment that replays it. */
export interface TraceContents {
  readonly path: string;
  readonly kind: Layout['kind'];
  /** Requests by model; empty for traces of functions, which have no names of models. */
  readonly models: ReadonlyMap<string, number>;
  /** Distinct SLOs, up to a few. */
  readonly slosNs: ReadonlySet<number>;
  /** True if requests have lengths. */
  readonly hasLengths: boolean;
  /** Guesses of its import. */
  readonly assumed: readonly string[];
}

const MOST_SLOS = 2;

/** Reads a trace of any known layout. Throws the coded errors of reading it. */
export async function traceContents(files: InputFiles, path: string): Promise<TraceContents> {
  const table = await openTable(files, path);
  const { kind } = table.layout;
  const hasLengths = table.layout.kind === 'arrivals' && table.layout.lengths;
  const notes = await files.text(notesPath(path)).catch(() => '');
  const assumed = notes.split('\n').filter((line) => line !== '');
  const counts: number[] = [];
  const slosNs = new Set<number>();
  if (kind !== 'arrivals') {
    await table.rest.return();
    return { path, kind, models: new Map(), slosNs, hasLengths, assumed };
  }
  const names = await readArrivals(table as Table<LayoutOf<'arrivals'>>, ({ length, model, sloNs }) => {
    for (let row = 0; row < length; row++) {
      const of = model[row]!;
      counts[of] = (counts[of] ?? 0) + 1;
      if (slosNs.size < MOST_SLOS) slosNs.add(sloNs[row]!);
    }
  });
  const models = new Map(names.map((name, i) => [name, counts[i]!]));
  return { path, kind, models, slosNs, hasLengths, assumed };
}
