import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { EscapementError } from '../base/errors.js';
import { csvFields } from '../base/files/csv-text.js';
import { OutputFile } from '../base/files/output-file.js';
import { type Random, stream } from '../base/random/streams.js';
import { ARRIVALS_HEADER, LENGTH_COLUMN } from './files/layout.js';
import type { MinuteCounts } from './minute-counts.js';
import type { StreamedSource } from './source.js';

/**
 * Writes counts in the official layout of Azure Functions 2019, functions by falling total, with hashes derived from
 * the seed (three functions in four share an app with the previous one). `.gz` compresses. Throws `E_FILE_WRITE`.
 */
export async function writeAzure2019(
  path: string,
  counts: MinuteCounts,
  seed: number | string,
): Promise<void> {
  await writeText(path, azure2019Text(counts, stream(seed, 'hashes')));
}

/**
 * Writes every arrival of a source as `arrival_ns,model_id,slo_ns`, and its `length` if the source has lengths;
 * `model_id` is the model's name if names are given, else its index. `.gz` compresses. Returns the number of arrivals.
 * Throws `E_FILE_WRITE`, and `E_USAGE` for closed-loop clients, whose arrivals depend on answers.
 */
export async function writeArrivals(
  path: string,
  source: StreamedSource,
  modelNames?: readonly string[],
): Promise<{ readonly arrivals: number; readonly lastNs: number }> {
  if (source.answered !== undefined) {
    const what = 'closed-loop clients send when they are answered: their arrivals exist only in a run';
    throw new EscapementError('E_USAGE', what);
  }
  const written = { arrivals: 0, lastNs: 0 };
  await writeText(path, arrivalsText(source, modelNames && (await csvFields(modelNames)), written));
  return written;
}

const PIECE_CHARS = 1 << 16;

async function* arrivalsText(
  source: StreamedSource,
  modelNames: readonly string[] | undefined,
  written: { arrivals: number; lastNs: number },
): AsyncGenerator<string> {
  const hasLengths = source.hasLengths === true;
  let piece = `${[...ARRIVALS_HEADER, ...(hasLengths ? [LENGTH_COLUMN] : [])].join(',')}\n`;
  for (;;) {
    while (source.starved) await source.refill();
    if (source.timeNs === Number.POSITIVE_INFINITY) break;
    const model = modelNames === undefined ? source.model : modelNames[source.model];
    const length = hasLengths ? `,${source.length === 0 ? '' : source.length}` : '';
    piece += `${source.timeNs},${model},${source.sloNs}${length}\n`;
    written.arrivals++;
    written.lastNs = source.timeNs;
    source.advance();
    if (piece.length < PIECE_CHARS) continue;
    yield piece;
    piece = '';
  }
  yield piece;
}

async function* azure2019Text(counts: MinuteCounts, random: Random): AsyncGenerator<string> {
  const labels = Array.from({ length: counts.minutes }, (_, minute) => counts.firstMinute + minute);
  yield `HashOwner,HashApp,HashFunction,Trigger,${labels.join(',')}\n`;
  const { start, rank, count, minutes } = counts;
  // One cursor per minute: ranks ascend in each, so that every entry is visited once.
  const cursor = start.slice(0, minutes);
  const row = new Array<number>(minutes);
  let owner = '';
  let app = '';
  for (let fn = 0; fn < counts.functions; fn++) {
    for (let minute = 0; minute < minutes; minute++) {
      const here = cursor[minute] < start[minute + 1] && rank[cursor[minute]] === fn;
      row[minute] = here ? count[cursor[minute]++] : 0;
    }
    if (fn === 0 || random() < 0.25) {
      owner = hash(random);
      app = hash(random);
    }
    yield `${owner},${app},${hash(random)},${counts.triggers?.[fn] ?? 'others'},${row.join(',')}\n`;
  }
}

/** 64 hexadecimal digits, like the hashes of the original. */
function hash(random: Random): string {
  let digits = '';
  while (digits.length < 64)
    digits += Math.floor(random() * 2 ** 32)
      .toString(16)
      .padStart(8, '0');
  return digits;
}

/**
 * Writes pieces of text to a file as they come, compressed if its name ends in `.gz`; the file gets its name when it is
 * complete. Throws `E_FILE_WRITE`, and any error of the pieces.
 */
async function writeText(path: string, pieces: AsyncIterable<string>): Promise<void> {
  const file = new OutputFile(path);
  const fill = async (source: AsyncIterable<string | Uint8Array>) => {
    for await (const piece of source) file.write(piece);
  };
  try {
    await (path.endsWith('.gz') ? pipeline(pieces, createGzip(), fill) : fill(pieces));
    file.close();
  } catch (error) {
    file.discard();
    throw error;
  }
}
