/** The first bytes of a client of HTTP/2. */
const PREFACE_BYTES = 24;
const HEAD_BYTES = 9;

/** Types of frames. */
export const DATA = 0;
export const RST_STREAM = 3;
export const GOAWAY = 7;

/** A frame of HTTP/2, head included; the preface counts as one of type -1. */
export interface Frame {
  readonly type: number;
  readonly stream: number;
  readonly bytes: Buffer;
}

/** Cuts one direction of a connection into frames. */
export class FrameReader {
  private received: Buffer = Buffer.alloc(0);
  private hasPreface: boolean;

  constructor(fromClient: boolean) {
    this.hasPreface = !fromClient;
  }

  read(bytes: Buffer): readonly Frame[] {
    let rest = Buffer.concat([this.received, bytes]);
    const frames: Frame[] = [];
    for (;;) {
      const length = this.lengthOf(rest);
      if (rest.length < length) break;
      const frame = Buffer.from(rest.subarray(0, length));
      frames.push(
        this.hasPreface
          ? { type: frame[3], stream: frame.readUInt32BE(5) & 0x7fffffff, bytes: frame }
          : { type: -1, stream: 0, bytes: frame },
      );
      this.hasPreface = true;
      rest = rest.subarray(length);
    }
    this.received = rest;
    return frames;
  }

  private lengthOf(rest: Buffer): number {
    if (!this.hasPreface) return PREFACE_BYTES;
    return rest.length < HEAD_BYTES ? HEAD_BYTES : HEAD_BYTES + rest.readUIntBE(0, 3);
  }
}

export function encodeFrame(type: number, stream: number, payload: Buffer): Buffer {
  const head = Buffer.alloc(HEAD_BYTES);
  head.writeUIntBE(payload.length, 0, 3);
  head[3] = type;
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}
