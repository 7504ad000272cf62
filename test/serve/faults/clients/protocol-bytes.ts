import type { Question, Reply } from './tally.js';

/** Messages of the Open Inference Protocol, put together byte by byte from its field numbers. */
export function inferRequest({ id, model, values, sloMs }: Question): Buffer {
  const slo = Buffer.concat([bytes(1, 'slo_ms'), bytes(2, number(2, sloMs))]);
  const shape = Buffer.concat([varint(1), varint(values.length)]);
  const input = Buffer.concat([bytes(1, 'input'), bytes(2, 'FP32'), bytes(3, shape)]);
  return Buffer.concat([
    bytes(1, model),
    bytes(3, id),
    bytes(4, slo),
    bytes(5, input),
    bytes(7, Buffer.from(values.buffer)),
  ]);
}

export function inferReply(message: Buffer): Reply {
  const found = fields(message);
  const id = (found.get(3)?.[0] as Buffer | undefined)?.toString() ?? '';
  const raw = (found.get(6) ?? []) as Buffer[];
  if (raw.length !== 1) return { kind: 'failure', said: `${raw.length} outputs` };
  return { kind: 'answer', id, values: [...new Float32Array(Uint8Array.from(raw[0]).buffer)] };
}

/** An answer of a stream: to which request, and what it says. */
export function streamReply(message: Buffer): { readonly id: string; readonly reply: Reply } {
  const found = fields(message);
  const inner = inferReply((found.get(2)?.[0] as Buffer | undefined) ?? Buffer.alloc(0));
  const error = (found.get(1)?.[0] as Buffer | undefined)?.toString() ?? '';
  const id = idOf((found.get(2)?.[0] as Buffer | undefined) ?? Buffer.alloc(0));
  return { id, reply: error === '' ? inner : { kind: 'failure', said: `stream: ${error}` } };
}

/** gRPC's frame around a message. */
export function framed(message: Buffer): Buffer {
  const head = Buffer.alloc(5);
  head.writeUInt32BE(message.length, 1);
  return Buffer.concat([head, message]);
}

/** Takes whole messages off the front of what has come; returns them and the rest. */
export function unframed(received: Buffer): { readonly messages: readonly Buffer[]; readonly rest: Buffer } {
  const messages: Buffer[] = [];
  let at = 0;
  while (received.length >= at + 5) {
    const length = received.readUInt32BE(at + 1);
    if (received.length < at + 5 + length) break;
    messages.push(received.subarray(at + 5, at + 5 + length));
    at += 5 + length;
  }
  return { messages, rest: received.subarray(at) };
}

export function idOf(message: Buffer): string {
  return (fields(message).get(3)?.[0] as Buffer | undefined)?.toString() ?? '';
}

function varint(value: number): Buffer {
  const out: number[] = [];
  let rest = value;
  for (; rest > 127; rest = Math.floor(rest / 128)) out.push((rest % 128) | 128);
  return Buffer.from([...out, rest]);
}

function number(field: number, value: number): Buffer {
  return Buffer.concat([varint(field << 3), varint(value)]);
}

function bytes(field: number, value: Buffer | string): Buffer {
  const content = Buffer.from(value as string);
  return Buffer.concat([varint((field << 3) | 2), varint(content.length), content]);
}

function fields(message: Buffer): ReadonlyMap<number, (number | Buffer)[]> {
  const found = new Map<number, (number | Buffer)[]>();
  let at = 0;
  const read = () => {
    let value = 0;
    for (let factor = 1; ; factor *= 128) {
      const byte = message[at++];
      value += (byte & 127) * factor;
      if (byte < 128) return value;
    }
  };
  while (at < message.length) {
    const tag = read();
    let value: number | Buffer = read();
    if ((tag & 7) === 2) {
      const length = value;
      value = message.subarray(at, at + length);
      at += length;
    }
    const field = tag >>> 3;
    found.set(field, [...(found.get(field) ?? []), value]);
  }
  return found;
}
