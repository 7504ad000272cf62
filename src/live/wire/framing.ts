import { crc32 } from 'node:zlib';
import type * as z from 'zod';

/** A message with its number among those of its direction on its stream: 1, 2, 3, … */
export type Numbered<Message> = Message & { readonly number: number };

/** Limit on the text of a message: more than the descriptions of 2,000 models with a thousand labels each. */
const MOST_TEXT_BYTES = 32 * 1024 * 1024;
const LENGTH_BYTES = 4;
const CHECKSUM_BYTES = 4;

/**
 * Messages of one direction of a stream as bytes: the length of a JSON text, the text, the tensors, a checksum. In the
 * text, sizes stand for tensors.
 */
export class Messages<Message extends object> {
  /** Messages have their tensors in `field` of the items of `list`; empty: they have none. */
  constructor(
    private readonly schema: z.ZodType<Message>,
    private readonly list = '',
    private readonly field = '',
  ) {}

  encode(message: Numbered<Message>): Buffer {
    const tensors: Uint8Array[] = [];
    let size = 0;
    const text = JSON.stringify(
      this.withTensors(message, (tensor: Uint8Array) => {
        tensors.push(tensor);
        size += tensor.length;
        return tensor.length;
      }),
    );
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
    if (at > end || at > MOST_TEXT_BYTES) throw new Error(`has a text of ${at - LENGTH_BYTES} bytes`);
    const { number, ...text } = parsed(bytes.toString('utf8', LENGTH_BYTES, at));
    const message = this.withTensors(checked(this.schema, text), (size: number) => {
      at += size;
      return bytes.subarray(at - size, at);
    });
    if (at !== end) throw new Error('has tensors of other sizes than it says');
    return { ...message, number } as Numbered<Message>;
  }

  /** Returns the message with each of its tensors, or sizes, replaced. */
  private withTensors<From, To>(message: Message, replace: (from: From) => To): Message {
    const items = (message as Record<string, unknown>)[this.list] as readonly Item<From>[] | undefined;
    if (items === undefined) return message;
    const replaced = items.map((item) => ({ ...item, [this.field]: item[this.field].map(replace) }));
    return { ...message, [this.list]: replaced };
  }
}

type Item<From> = Readonly<Record<string, readonly From[]>>;

function parsed(text: string): { readonly number?: unknown } {
  try {
    return Object(JSON.parse(text));
  } catch {
    throw new Error('has a text that is no JSON');
  }
}

/** Throws `Error` with words that follow "the message", or "the answer", for the first mistake. */
export function checked<T>(schema: z.ZodType<T>, value: unknown): T {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const [{ path, message }] = result.error.issues;
  throw new Error(`is not understood: ${path.length === 0 ? '' : `${path.join('.')}: `}${message}`);
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
