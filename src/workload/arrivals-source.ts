import type { InputFiles } from '../base/world/input-files.js';
import { ArrivalRows, type ModelIds } from './files/arrival-rows.js';
import { emptyTrace, noRows, requireLayout } from './files/layout.js';
import { readBlocks } from './files/read-blocks.js';
import type { Frame } from './frame.js';
import { BaseSource } from './source.js';
import type { ArrivalsSpec } from './spec.js';

const NEWLINE = 0x0a;
/** Without the mark that a file may begin with. */
const UTF8 = new TextDecoder();

/**
 * Plays a file of `arrival_ns,model_id,slo_ns`, perhaps with a `length`, a block of it in memory at a time. `model_id` counts, or
 * names, the models that the workload addresses.
 */
export class ArrivalsSource extends BaseSource {
  hasLengths = false;
  private readonly rows: ArrivalRows;
  private readonly blocks: AsyncGenerator<Uint8Array, void, void>;
  private readonly path: string;
  private readonly ownSlo: boolean;
  private readonly models: Int32Array;
  private readonly startNs: number;
  private readonly limitNs: number;
  private next = 0;
  private any = false;
  private ended = false;

  private constructor(spec: ArrivalsSpec, blocks: AsyncGenerator<Uint8Array, void, void>, frame: Frame) {
    super(frame.sloNs);
    this.path = spec.path;
    this.rows = new ArrivalRows(spec.path, modelIds(frame.modelNames), frame.longest);
    this.blocks = blocks;
    this.ownSlo = !spec.overrideSlo;
    this.models = frame.models;
    this.startNs = frame.startNs;
    this.limitNs = frame.endNs - frame.startNs;
    this.timeNs = frame.startNs;
    this.starved = true;
  }

  /** Opens the file and reads as far as the first arrival. */
  static async open(spec: ArrivalsSpec, frame: Frame, files: InputFiles): Promise<ArrivalsSource> {
    const blocks = readBlocks(files, spec.path);
    const source = new ArrivalsSource(spec, blocks, frame);
    const first = await blocks.next();
    if (first.done) throw emptyTrace(spec.path);
    try {
      const headerEnd = first.value.indexOf(NEWLINE);
      const header = UTF8.decode(first.value.subarray(0, headerEnd)).trim();
      const { lengths } = requireLayout('arrivals', header.split(','), spec.path);
      source.hasLengths = lengths;
      source.rows.hasLengths = lengths;
      source.decode(first.value.subarray(headerEnd + 1));
      await source.refill();
    } catch (error) {
      await blocks.return();
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
        const block = await this.blocks.next();
        if (!block.done) this.decode(block.value);
        else if (this.any) this.finish();
        else throw noRows(this.path);
      }
    } catch (error) {
      await this.blocks.return();
      throw error;
    }
  }

  private decode(block: Uint8Array): void {
    const cut = this.rows.decode(block, this.limitNs);
    this.next = 0;
    this.any ||= cut || this.rows.length > 0;
    if (cut) {
      this.ended = true;
      // Closes the file; what follows in it is of no interest.
      void this.blocks.return();
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
  // Where models are called by numbers, a number is a name first.
  const numericNames = names.some((name) => /^\d+$/.test(name));
  return {
    indices: numericNames ? 0 : names.length,
    resolve(id) {
      const position = positions.get(id) ?? (/^\d+$/.test(id) ? Number(id) : -1);
      return position < names.length ? position : -1;
    },
    hint: `the workload addresses ${names.length} models (0 to ${names.length - 1}, or by name)`,
  };
}

const TAIL_BYTES = 1 << 16;

/**
 * Time of the last row of a sorted arrivals file, ns, or 0 where it has none: how long a workload lasts
 * that says no duration. Of an unpacked file only the end is read.
 */
export async function lastArrivalNs(files: InputFiles, path: string): Promise<number> {
  let tail = '';
  for await (const block of readBlocks(files, path, await tailStart(files, path))) {
    tail = UTF8.decode(block.subarray(Math.max(0, block.length - TAIL_BYTES))).trimEnd() || tail;
  }
  const last = Number(tail.slice(tail.lastIndexOf('\n') + 1).split(',')[0]);
  // A row that is no row is reported, with its line, when the source gets there.
  return Number.isSafeInteger(last) && last >= 0 ? last : 0;
}

async function tailStart(files: InputFiles, path: string): Promise<number> {
  return path.endsWith('.gz') ? 0 : Math.max(0, (await files.stat(path)).bytes - TAIL_BYTES);
}
