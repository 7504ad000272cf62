import { createGunzip, createInflate } from 'node:zlib';
import { KIB } from '../../../base/units.js';
import { BodyCollector } from '../body-collector.js';
import { type Compression, inflateWhole } from '../codec/inflate.js';
import { Refusal } from '../refusal.js';

/** How the messages of a client may be compressed. */
export type Encoding = 'identity' | Compression;

/** The encoding that a header names; throws a refusal. */
export function encodingOf(header: string | undefined): Encoding {
  if (header === undefined || header === 'identity') return 'identity';
  if (header === 'gzip' || header === 'deflate') return header;
  throw new Refusal('encoding', 'grpc-encoding: this server reads identity, gzip and deflate');
}

/** Who pays for the memory of what is inflated. */
interface Holder {
  /** Throws a refusal. */
  hold(bytes: number): void;
  readonly isGone: boolean;
}

type Inflated = (refusal: Refusal | null, bytes: Uint8Array<ArrayBuffer>) => void;

/** Messages up to this size may be inflated here and now, to at most so much. */
const SMALL_BYTES = 4 * KIB;
const SMALL_INFLATED_BYTES = 64 * KIB;

/**
 * Decompresses a message to at most `maxBytes`; what is not small in libuv's threads. `holder` takes each piece of it
 * before the next one is made. Calls `done` now or later.
 */
export function inflate(
  bytes: Uint8Array<ArrayBuffer>,
  encoding: Encoding,
  maxBytes: number,
  holder: Holder,
  done: Inflated,
): void {
  if (encoding === 'identity') {
    const reason = 'a message is compressed although grpc-encoding names no compression';
    done(new Refusal('invalid', reason), NOTHING);
    return;
  }
  const small = bytes.length > SMALL_BYTES ? null : inflateSmall(bytes, encoding, maxBytes);
  if (small === null) inflateLarge(bytes, encoding, maxBytes, holder, done);
  else deliverHeld(small, holder, done);
}

/** Null: it does not stay small, or it is no such data. */
function inflateSmall(
  bytes: Uint8Array<ArrayBuffer>,
  encoding: Compression,
  maxBytes: number,
): Uint8Array<ArrayBuffer> | null {
  const maxOutputLength = Math.min(SMALL_INFLATED_BYTES, Math.max(1, maxBytes));
  try {
    return inflateWhole(encoding, bytes, { maxOutputLength });
  } catch {
    return null;
  }
}

function deliverHeld(bytes: Uint8Array<ArrayBuffer>, holder: Holder, done: Inflated): void {
  try {
    holder.hold(bytes.length);
  } catch (refusal) {
    done(refusal as Refusal, NOTHING);
    return;
  }
  done(null, bytes);
}

function inflateLarge(
  bytes: Uint8Array<ArrayBuffer>,
  encoding: Compression,
  maxBytes: number,
  holder: Holder,
  done: Inflated,
): void {
  const options = { chunkSize: PIECE_BYTES };
  const stream = encoding === 'gzip' ? createGunzip(options) : createInflate(options);
  const whole = new BodyCollector(maxBytes, -1);
  const owner = new Owner(holder);
  let isDone = false;
  const damaged = () => new Refusal('invalid', `a message is no ${encoding} data`);
  const settle = (refusal: Refusal | null) => {
    if (isDone) return;
    isDone = true;
    stream.destroy();
    if (refusal !== null) whole.discard();
    done(refusal, refusal === null ? (whole.finish() as Buffer<ArrayBuffer>) : NOTHING);
  };
  stream.on('data', (piece: Buffer) => {
    if (isDone) return;
    if (holder.isGone) return settle(new Refusal('invalid', 'the client is gone'));
    if (whole.bytes + piece.length > maxBytes)
      return settle(new Refusal('tooLarge', `a message is more than ${maxBytes} bytes when decompressed`));
    // Once a piece fills its buffer, zlib takes another.
    const refusal = whole.add(piece, owner);
    if (refusal !== null) settle(refusal);
  });
  stream.on('end', () => {
    // Node passes over what follows, see `inflateWhole`.
    settle(stream.bytesWritten === bytes.length ? null : damaged());
  });
  stream.on('error', () => settle(damaged()));
  stream.end(bytes);
}

/** Holds memory for what a message has become so far. */
class Owner {
  private heldBytes = 0;

  constructor(private readonly holder: Holder) {}

  hold(bytes: number): Refusal | null {
    try {
      this.holder.hold(bytes - this.heldBytes);
    } catch (refusal) {
      return refusal as Refusal;
    }
    this.heldBytes = bytes;
    return null;
  }
}

/** What zlib gives at a time. */
const PIECE_BYTES = 64 * KIB;
const NOTHING = new Uint8Array(0);
