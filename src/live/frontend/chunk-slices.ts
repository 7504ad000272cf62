import { KIB } from '../../base/units.js';

/** How much of a body in chunks is parsed at a time. */
const LEAST_BYTES = KIB;
const MOST_BYTES = 16 * KIB;
/** Chunks of this length and more cost no more than their bytes do. */
const LONG_BYTES = 256;
/** This many pieces take as long as a small request. */
const PIECES_PER_REQUEST = 8;

/** How much of a body in chunks is parsed in one turn: little while chunks are short, since each costs time of its own. */
export class ChunkSlices {
  /** The next slice. */
  bytes = LEAST_BYTES;

  /** So many bytes were parsed, and were so many pieces of the body. Returns what they cost, in small requests. */
  parsed(bytes: number, pieces: number): number {
    const areLong = pieces * LONG_BYTES <= bytes;
    this.bytes = areLong ? Math.min(MOST_BYTES, 2 * this.bytes) : LEAST_BYTES;
    return 1 + Math.floor(pieces / PIECES_PER_REQUEST);
  }
}
