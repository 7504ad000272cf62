import { KIB } from '../../base/units.js';
import type { Datatype } from '../model.js';
import type { TensorData } from './json-data.js';
import { readNumberList } from './number-lists.js';
import { fixedBytes } from './paged-bytes.js';

/** Below this, `JSON.parse` is as fast. */
const LEAST_BYTES = 2 * KIB;
/** Inputs of models are fewer, and their dimensions, too. */
const MOST_LISTS = 64;
const DEEPEST = 16;

const DATA = Buffer.from('"data"');
const BACKSLASH = 0x5c;
const COLON = 0x3a;
const OPEN = 0x5b;
const CLOSE = 0x5d;
const MINUS = 0x2d;
const ZERO = 0x30;

/** What `data` is, another reader has to say. */
export class NotPlain extends Error {}

/** From the `[` of a list to behind its `]`. */
interface Range {
  readonly begin: number;
  readonly end: number;
}

/**
 * The text of an infer request whose lists of numbers were taken out, so that what is left is short. In their places are their
 * numbers: 0, 1, ….
 */
export class LiftedLists implements TensorData {
  private taken = 0;

  private constructor(
    /** What is left. */
    readonly rest: Uint8Array,
    private readonly body: Uint8Array,
    private readonly lists: readonly Range[],
  ) {}

  /** Null: the text has none, or something that makes it less than sure where they are. */
  static of(body: Uint8Array, bytes: number): LiftedLists | null {
    if (bytes < LEAST_BYTES) return null;
    const text = Buffer.from(body.buffer, body.byteOffset, bytes);
    const lists = findLists(text);
    if (lists === null || lists.length === 0) return null;
    const pieces: Uint8Array[] = [];
    let from = 0;
    for (const [i, { begin, end }] of lists.entries()) {
      // Nothing that follows may become a part of the number.
      pieces.push(text.subarray(from, begin), Buffer.from(`${i} `));
      from = end;
    }
    pieces.push(text.subarray(from));
    const rest = Buffer.concat(pieces);
    // An escaped letter may hide a key.
    return rest.includes(BACKSLASH) ? null : new LiftedLists(rest, body, lists);
  }

  /** Throws `NotPlain` if `data` is not the place of the next list, or its numbers are not plain. */
  bytesOf(_name: string, datatype: Datatype, shape: readonly number[], data: unknown): Uint8Array {
    if (data !== this.taken || this.taken >= this.lists.length) throw new NotPlain('data is not plain');
    const { begin, end } = this.lists[this.taken++];
    const bytes = readNumberList(datatype, shape, fixedBytes(this.body.subarray(begin, end)));
    if (bytes === null) throw new NotPlain('data is not plain');
    return bytes;
  }

  /** All were taken, each once: none was anything but the data of an input. */
  get areTaken(): boolean {
    return this.taken === this.lists.length;
  }

  /** Whether all are the data of `inputs`, as given, so that a list is missing nowhere else. */
  areDataOf(inputs: unknown): boolean {
    if (!Array.isArray(inputs)) return false;
    let next = 0;
    for (const input of inputs) if (input?.data === next) next++;
    return next === this.lists.length;
  }
}

/** All lists that follow the key `data`; null: what follows one is none, or not of numbers. */
function findLists(text: Buffer): Range[] | null {
  const lists: Range[] = [];
  let from = 0;
  for (;;) {
    const key = text.indexOf(DATA, from);
    if (key < 0) return lists;
    const colon = skipSpace(text, key + DATA.length);
    if (text[colon] !== COLON) {
      from = key + DATA.length;
      continue;
    }
    const begin = skipSpace(text, colon + 1);
    if (text[begin] !== OPEN || !holdsNumbers(text, begin)) return null;
    const end = endOfList(text, begin);
    if (end < 0 || lists.length === MOST_LISTS) return null;
    lists.push({ begin, end });
    from = end;
  }
}

function skipSpace(text: Buffer, from: number): number {
  let at = from;
  while (text[at] === 0x20 || text[at] === 0x0a || text[at] === 0x0d || text[at] === 0x09) at++;
  return at;
}

/** By its first element. */
function holdsNumbers(text: Buffer, begin: number): boolean {
  let at = begin;
  while (text[at] === OPEN) at = skipSpace(text, at + 1);
  return text[at] === MINUS || (text[at] >= ZERO && text[at] <= ZERO + 9);
}

/** Behind the bracket that closes a list; −1: there is none. In lists of numbers every bracket counts. */
function endOfList(text: Buffer, begin: number): number {
  let depth = 1;
  let open = text.indexOf(OPEN, begin + 1);
  let close = text.indexOf(CLOSE, begin + 1);
  while (close >= 0) {
    if (open >= 0 && open < close) {
      if (++depth > DEEPEST) return -1;
      open = text.indexOf(OPEN, open + 1);
    } else {
      if (--depth === 0) return close + 1;
      close = text.indexOf(CLOSE, close + 1);
    }
  }
  return -1;
}
