import { EscapementError } from '../base/errors.js';
import { csvReader } from '../base/files/csv-text.js';
import { suggestion } from '../base/nearest.js';
import { NS_PER_S } from '../base/units.js';
import type { InputFiles } from '../base/world/input-files.js';
import { ArrivalRows, type ModelIds } from './files/arrival-rows.js';
import { type LayoutOf, LENGTH_COLUMN, noRows, openTable, type Table } from './files/layout.js';
import { readBlocks } from './files/read-blocks.js';
import type { Frame } from './frame.js';
import { longestOf } from './lengths.js';
import { BaseSource } from './source.js';
import type { SpecOf } from './spec.js';

/**
 * Plays a file of `arrival_ns,model_id,slo_ns`, optionally with a `length`, a block of it in memory at a time.
 * `model_id` is a number or name among the models that the workload addresses.
 */
export class ArrivalsSource extends BaseSource {
  readonly hasLengths: boolean;
  private readonly rows: ArrivalRows;
  private readonly table: Table;
  private readonly ownSlo: boolean;
  private readonly models: Int32Array;
  private readonly startNs: number;
  private readonly limitNs: number;
  private next = 0;
  private any = false;
  private ended = false;

  private constructor(spec: SpecOf<'arrivals'>, table: Table<LayoutOf<'arrivals'>>, frame: Frame) {
    super(frame.sloNs);
    this.table = table;
    this.rows = new ArrivalRows(table, modelIds(frame.modelNames), {
      longest: frame.longest,
      max: spec.length?.kind === 'column' ? longestOf(spec.length) : Number.POSITIVE_INFINITY,
    });
    this.hasLengths = this.rows.hasLengths;
    this.ownSlo = !spec.overrideSlo;
    this.models = frame.models;
    this.startNs = frame.startNs;
    this.limitNs = frame.endNs - frame.startNs;
    this.timeNs = frame.startNs;
    this.starved = true;
  }

  /** Opens the file and reads up to the first arrival. */
  static async open(spec: SpecOf<'arrivals'>, frame: Frame, files: InputFiles): Promise<ArrivalsSource> {
    const table = await openTable(files, spec.path, 'arrivals');
    const source = new ArrivalsSource(spec, table, frame);
    try {
      if (spec.length?.kind === 'column' && !source.hasLengths) {
        const what = `has no column ${LENGTH_COLUMN}, which length asks for`;
        throw new EscapementError('E_TRACE_HEADER', what, { file: spec.path, line: 1 });
      }
      source.decode(table.first);
      await source.refill();
    } catch (error) {
      await table.rest.return();
      throw error;
    }
    return source;
  }

  override advance(): void {
    const i = this.next++;
    const { rows } = this;
    if (i < rows.length) {
      this.timeNs = this.startNs + rows.timeNs[i];
      this.model = this.models[rows.model[i]];
      if (this.ownSlo) this.sloNs = rows.sloNs[i];
      if (this.hasLengths) this.length = rows.lengths[i];
    } else if (this.ended) {
      this.timeNs = Number.POSITIVE_INFINITY;
    } else {
      this.starved = true;
    }
  }

  override async refill(): Promise<void> {
    try {
      while (this.starved) {
        const block = await this.table.rest.next();
        if (!block.done) this.decode(block.value);
        else if (this.any) this.finish();
        else throw noRows(this.table.file);
      }
    } catch (error) {
      await this.table.rest.return();
      throw error;
    }
  }

  private decode(block: Uint8Array): void {
    const cut = this.rows.decode(block, this.limitNs);
    this.next = 0;
    this.any ||= cut || this.rows.length > 0;
    if (cut) {
      this.ended = true;
      // Closes the file: the rest of it is not needed.
      void this.table.rest.return();
    }
    this.starved = false;
    this.advance();
  }

  private finish(): void {
    this.ended = true;
    this.starved = false;
    this.advance();
  }
}

function modelIds(names: readonly string[]): ModelIds {
  const positions = new Map(names.map((name, position) => [name, position]));
  // If models have numeric names, a number is a name first.
  const numericNames = names.some((name) => /^\d+$/.test(name));
  return {
    indices: numericNames ? 0 : names.length,
    resolve(id) {
      const position = positions.get(id) ?? (/^\d+$/.test(id) ? Number(id) : -1);
      return position < names.length ? position : -1;
    },
    hint: (id) => `models of the workload: 0 to ${names.length - 1}, or by name; ${suggestion(id, names)}`,
  };
}

/**
 * Warning if the first arrival of a file is far from the start, with the likely unit of its times; null: it is not.
 * Times since 1970 lie between 2001 and 2100.
 */
export function distantStart(firstNs: number, lastNs: number): string | null {
  if (firstNs < NS_PER_S || firstNs <= lastNs - firstNs) return null;
  const unit = EPOCH_UNITS.find(([, perSecond]) => firstNs >= 1e9 * perSecond && firstNs < 4.1e9 * perSecond);
  const likely = unit === undefined ? '' : `: its times look like ${unit[0]} since 1970`;
  const seconds = firstNs / NS_PER_S;
  const after =
    seconds < 86_400 ? `${Number(seconds.toPrecision(3))} s` : `${Math.round(seconds / 86_400)} days`;
  return `the first arrival lies ${after} after the start${likely}; write nanoseconds since the start of the trace`;
}

/** Applies `distantStart` to a file, of which only both ends are read. Throws the errors of reading. */
export async function distantStartOf(files: InputFiles, path: string): Promise<string | null> {
  const { first, rest, rowsOf } = await openTable(files, path, 'arrivals');
  await rest.return();
  const [row] = rowsOf(first, 2).filter(([time]) => time !== '');
  return row === undefined ? null : distantStart(Number(row[0]), await lastArrivalNs(files, path));
}

const EPOCH_UNITS = [
  ['seconds', 1],
  ['milliseconds', 1e3],
  ['microseconds', 1e6],
] as const;

const TAIL_BYTES = 1 << 16;
const UTF8 = new TextDecoder();

/**
 * Time of the last row of a sorted arrivals file, ns, or 0 if it has none: the length of a workload without a duration.
 * Reads only the end of an uncompressed file.
 */
export async function lastArrivalNs(files: InputFiles, path: string): Promise<number> {
  const start = path.endsWith('.gz') ? 0 : Math.max(0, (await files.stat(path)).bytes - TAIL_BYTES);
  let tail = '';
  for await (const block of readBlocks(files, path, start)) {
    tail = UTF8.decode(block.subarray(Math.max(0, block.length - TAIL_BYTES))).trimEnd() || tail;
  }
  const parse = await csvReader();
  try {
    const [[time] = []] = parse(
      tail.slice(tail.lastIndexOf('\n') + 1),
      (what) => new EscapementError('E_TRACE_VALUE', what),
    );
    const last = Number(time);
    return Number.isSafeInteger(last) && last >= 0 ? last : 0;
  } catch (error) {
    // An invalid row is reported, with its line, when the source gets there.
    if (error instanceof EscapementError) return 0;
    throw error;
  }
}
