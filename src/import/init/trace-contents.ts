import type { InputFiles } from '../../base/world/input-files.js';
import { ArrivalRows } from '../../workload/files/arrival-rows.js';
import { type Layout, type LayoutOf, openTable, type Table } from '../../workload/files/layout.js';

/** Kind, models and SLOs of a trace, for an experiment that replays it. */
export interface TraceContents {
  readonly path: string;
  readonly kind: Layout['kind'];
  /** Requests by model; empty for traces of functions, which have no names of models. */
  readonly models: ReadonlyMap<string, number>;
  /** Distinct SLOs, up to a few. */
  readonly slosNs: ReadonlySet<number>;
}

const MOST_SLOS = 2;

/** Reads a trace of any known layout. Throws the coded errors of reading it. */
export async function traceContents(files: InputFiles, path: string): Promise<TraceContents> {
  const table = await openTable(files, path);
  const { kind } = table.layout;
  const names: string[] = [];
  const counts: number[] = [];
  const slosNs = new Set<number>();
  if (kind === 'arrivals') {
    const known = new Map<string, number>();
    const resolve = (id: string) => known.get(id) ?? known.set(id, names.push(id) - 1).size - 1;
    const rows = new ArrivalRows(table as Table<LayoutOf<'arrivals'>>, { indices: 0, resolve, hint: '' });
    const add = (lines: Uint8Array) => {
      rows.decode(lines, Number.POSITIVE_INFINITY);
      for (let row = 0; row < rows.length; row++) {
        const model = rows.model[row]!;
        counts[model] = (counts[model] ?? 0) + 1;
        if (slosNs.size < MOST_SLOS) slosNs.add(rows.sloNs[row]!);
      }
    };
    add(table.first);
    for await (const lines of table.rest) add(lines);
  }
  await table.rest.return();
  return { path, kind, models: new Map(names.map((name, i) => [name, counts[i]!])), slosNs };
}
