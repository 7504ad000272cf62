import { crc32 } from 'node:zlib';
import * as z from 'zod';

/** A message with its number in its direction of the stream: 1, 2, 3, … */
export type Numbered<Message> = Message & { readonly number: number };

/** Limits on a text before it is parsed: a few kilobytes of gzip would otherwise become gigabytes of objects. */
export interface TextLimits {
  readonly bytes: number;
  /** Commas and opening brackets: about as many values. */
  readonly parts: number;
}

const LENGTH_BYTES = 4;
const CHECKSUM_BYTES = 4;
const NUMBER = z.object({ number: z.int() });

/**
 * Messages of one direction of a stream as bytes: the length of a JSON text, the text, the tensors, a checksum. In the
 * text, sizes stand for tensors.
 */
export class Messages<Message extends object> {
  /** Messages have their tensors in `field` of the items of `list`; empty: they have none. */
  constructor(
    private readonly schema: z.ZodType<Message>,
    private readonly limits: TextLimits,
    private readonly list = '',
    private readonly field = '',
  ) {}

  encode(message: Numbered<Message>): Buffer {
    const tensors: Uint8Array[] = [];
    let size = 0;
    const { list, field } = this;
    const items = this.itemsOf<Uint8Array>(message).map((item) => {
      const sizes = item[field].map(({ length }) => length);
      for (const tensor of item[field]) tensors.push(tensor);
      for (const bytes of sizes) size += bytes;
      return { ...item, [field]: sizes };
    });
    const text = JSON.stringify(list in message ? { ...message, [list]: items } : message);
    const textBytes = Buffer.byteLength(text);
    const end = LENGTH_BYTES + textBytes + size;
    const bytes = Buffer.allocUnsafe(end + CHECKSUM_BYTES);
    bytes.writeUInt32LE(textBytes);
    bytes.write(text, LENGTH_BYTES);
    let at = LENGTH_BYTES + textBytes;
    for (const tensor of tensors) {
      bytes.set(tensor, at);
      at += tensor.length;
    }
    bytes.writeUInt32LE(crc32(bytes.subarray(0, end)), end);
    return bytes;
  }

  /** Tensors are parts of `bytes`. Throws `Error` with words that follow "the message". */
  decode(bytes: Buffer): Numbered<Message> {
    const end = bytes.length - CHECKSUM_BYTES;
    if (end < LENGTH_BYTES || crc32(bytes.subarray(0, end)) !== bytes.readUInt32LE(end))
      throw new Error('was damaged in transit: its checksum is wrong');
    let at = LENGTH_BYTES + bytes.readUInt32LE();
    const text = bytes.subarray(LENGTH_BYTES, at);
    if (at > end || text.length > this.limits.bytes)
      throw new Error(`has a text of ${at - LENGTH_BYTES} bytes`);
    checkParts(text, this.limits.parts);
    const { message, number } = this.read(text.toString());
    // In place: the items are new.
    for (const item of this.itemsOf<number | Uint8Array>(message))
      item[this.field] = item[this.field].map((size) => {
        const begin = at;
        at += Number(size);
        return bytes.subarray(begin, at);
      });
    if (at !== end) throw new Error('has tensors of other sizes than it says');
    return Object.assign(message, { number });
  }

  private read(text: string): { readonly message: Message; readonly number: number } {
    try {
      const json = JSON.parse(text);
      return { message: checked(this.schema, json), number: checked(NUMBER, json).number };
    } catch (error) {
      throw new Error(`is not understood: ${(error as Error).message}`);
    }
  }

  private itemsOf<Part>(message: Message): readonly Record<string, readonly Part[]>[] {
    return (message as Record<string, readonly Record<string, readonly Part[]>[]>)[this.list] ?? [];
  }
}

function checkParts(text: Uint8Array, most: number): void {
  let parts = 0;
  for (let i = 0; i < text.length; i++) {
    const byte = text[i];
    if ((byte === COMMA || byte === BRACKET || byte === BRACE) && ++parts > most)
      throw new Error(`has more than ${most} parts`);
  }
}

const COMMA = 0x2c;
const BRACKET = 0x5b;
const BRACE = 0x7b;

/** A name. */
export const TEXT = z.string().max(64 * 1024);
/** A text for people, cut to a readable length. */
export const WORDS = z.string().transform((text) => text.slice(0, 2000));

/** A list, checked up to its first mistake: zod alone would describe each of a million. */
export function listOf<T>(
  item: z.ZodType<T>,
  least = 0,
  most = Number.POSITIVE_INFINITY,
): z.ZodType<readonly T[]> {
  return z.transform((value, { issues }) => {
    const refuse = (message: string, path: PropertyKey[] = []) => {
      issues.push({ code: 'custom', input: value, message, path });
      return z.NEVER;
    };
    if (!Array.isArray(value)) return refuse('expected a list');
    if (value.length < least || value.length > most) return refuse(`a list of ${value.length}`);
    const items: T[] = [];
    for (let i = 0; i < value.length; i++) {
      const { data, error } = item.safeParse(value[i]);
      if (error !== undefined) return refuse(error.issues[0].message, [i, ...error.issues[0].path]);
      items.push(data);
    }
    return items;
  });
}

/** Throws `Error` with the first mistake. */
export function checked<T>(schema: z.ZodType<T>, value: unknown): T {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const [{ path, message }] = result.error.issues;
  throw new Error(`${path.length === 0 ? '' : `${path.join('.')}: `}${message}`);
}

/** Numbers the messages of one direction of a stream, at either end, so that a lost one is detected with the next. */
export class Numbering {
  private last = 0;

  /** Returns the next message to send, with its number. */
  number<Message>(message: Message): Numbered<Message> {
    return { ...message, number: ++this.last };
  }

  /** Checks a received message. Throws `Error` with words that follow "the message". */
  check<Message>(message: Numbered<Message>): Message {
    if (message.number !== ++this.last)
      throw new Error(`has number ${message.number} instead of ${this.last}: others were lost in transit`);
    return message;
  }
}

/** Method of a service with a stream in both directions. It receives bytes, so that the receiver decides when they are decoded. */
export function streamMethod<Sent extends object, Received extends object>(
  path: string,
  sent: Messages<Sent>,
  received: Messages<Received>,
) {
  const asTheyAre = (bytes: Buffer) => bytes;
  return {
    path,
    requestStream: true as const,
    responseStream: true as const,
    requestSerialize: (message: Numbered<Sent>) => sent.encode(message),
    requestDeserialize: asTheyAre,
    responseSerialize: (message: Numbered<Received>) => received.encode(message),
    responseDeserialize: asTheyAre,
  };
}
