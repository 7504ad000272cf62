import { crc32 } from 'node:zlib';
import type { MessageTypeDefinition } from '@grpc/proto-loader';
import { MessageLimits } from './message-limits.js';
import type { Numbered } from './numbering.js';

type Definition = MessageTypeDefinition<object, object>;

/** Encodes messages of one type with their checksum; rejects damaged or oversized ones when decoding. */
export class CheckedMessages<Message extends object> {
  private readonly limits: MessageLimits;

  constructor(
    private readonly definition: Definition,
    byName: Readonly<Record<string, Definition>>,
  ) {
    this.limits = new MessageLimits(definition, byName);
  }

  encode(message: Numbered<Message>): Buffer {
    const bytes = this.definition.serialize({ ...message, checksum: 0 });
    const end = bytes.length - CHECKSUM_BYTES;
    bytes.writeUInt32LE(crc32(bytes.subarray(0, end)), end);
    return bytes;
  }

  /** Throws `Error` with words that follow "the message". */
  decode(bytes: Buffer): Numbered<Message> {
    const end = bytes.length - CHECKSUM_BYTES;
    if (end < 0 || crc32(bytes.subarray(0, end)) !== bytes.readUInt32LE(end))
      throw new Error('was damaged in transit: its checksum is wrong');
    this.limits.check(bytes);
    return this.definition.deserialize(bytes) as Numbered<Message>;
  }
}

/** The last field of every message: these are its last bytes. */
const CHECKSUM_BYTES = 4;
