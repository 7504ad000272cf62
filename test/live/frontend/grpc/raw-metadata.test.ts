import { connect, type Socket } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import {
  callHeaders,
  DATA,
  END_HEADERS,
  END_STREAM,
  frame,
  HEADERS,
  RST_STREAM,
  SETTINGS,
} from '../../../bench/live/hostile/frames.js';
import { echoModel, FakeService } from '../fake-service.js';
import { openGrpc } from '../fixtures.js';
import { serializeInfer } from '../grpc-client.js';

// Metadata that no gRPC or HTTP/2 library would send, as frames put together here.

const TRACE = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
const MODELS = [echoModel('mlp', false, [['x', 'FP32', [2]]])];
const MESSAGE = serializeInfer({
  model_name: 'mlp',
  inputs: [{ name: 'x', datatype: 'FP32', shape: [2] }],
  raw_input_contents: [Buffer.alloc(8)],
});

const GOAWAY = 7;
const INFER = '/inference.GRPCInferenceService/ModelInfer';
const TOKEN = { authorization: 'Bearer s3cret' };

/** A connection that has said hello. */
class RawClient {
  private readonly socket: Socket;
  private heard = Buffer.alloc(0);
  private nextStream = 1;

  constructor(port: number) {
    this.socket = connect(port, '127.0.0.1');
    this.socket.on('error', () => {});
    this.socket.on('data', (bytes) => {
      this.heard = Buffer.concat([this.heard, bytes]);
    });
    this.socket.write(
      Buffer.concat([Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'), frame(SETTINGS, 0, 0)]),
    );
    onTestFinished(() => {
      this.socket.destroy();
    });
  }

  /** Calls ModelInfer, and says how that ends. */
  async infer(
    metadata: Readonly<Record<string, string>>,
    path = INFER,
  ): Promise<'answered' | 'refused' | 'reset' | 'closed'> {
    const stream = this.nextStream;
    this.nextStream += 2;
    const prefix = Buffer.alloc(5);
    prefix.writeUInt32BE(MESSAGE.length, 1);
    this.socket.write(
      Buffer.concat([
        frame(HEADERS, END_HEADERS, stream, callHeaders(path, metadata)),
        frame(DATA, END_STREAM, stream, Buffer.concat([prefix, MESSAGE])),
      ]),
    );
    let types: number[] = [];
    const isOver = () => {
      const frames = framesIn(this.heard);
      const own = frames.filter((each) => each.stream === stream);
      types = own.map(({ type }) => type);
      const isClosed = this.socket.closed || frames.some(({ type }) => type === GOAWAY);
      return isClosed || own.some(({ type, flags }) => type === RST_STREAM || (flags & END_STREAM) !== 0);
    };
    await expect.poll(isOver).toBe(true);
    // An answer is headers, a message and trailers; an `ApiError` is trailers alone.
    if (types.includes(DATA)) return 'answered';
    if (types.includes(RST_STREAM)) return 'reset';
    return types.includes(HEADERS) ? 'refused' : 'closed';
  }
}

function framesIn(bytes: Buffer): { type: number; flags: number; stream: number }[] {
  const found = [];
  for (let at = 0; at + 9 <= bytes.length; at += 9 + bytes.readUIntBE(at, 3))
    found.push({ type: bytes[at + 3]!, flags: bytes[at + 4]!, stream: bytes.readUInt32BE(at + 5) });
  return found;
}

async function open() {
  const service = new FakeService(MODELS);
  const { port } = await openGrpc(service, { token: 's3cret' });
  return { service, client: new RawClient(port) };
}

describe('metadata with bytes that no field may have', () => {
  it('is read like any other without them', async () => {
    const { service, client } = await open();
    expect(await client.infer({ ...TOKEN, traceparent: TRACE })).toBe('answered');
    expect(service.requests[0]?.trace).toBe(TRACE);
    expect(await client.infer({})).toBe('refused');
  });

  it.each([
    ['CR LF', '\r\n'],
    ['LF', '\n'],
    ['CR', '\r'],
    ['NUL', '\0'],
    ['DEL', '\x7f'],
  ])('is passed over, field by field, and the call goes on: %s', async (_, byte) => {
    const { service, client } = await open();
    for (const [name, value] of [
      ['traceparent', `${TRACE}${byte}`],
      ['traceparent', `${byte}${TRACE}`],
      ['x-note', `a${byte}traceparent: ${TRACE}`],
      [`x-note${byte}traceparent`, TRACE],
    ] as const)
      expect(await client.infer({ ...TOKEN, [name]: value })).toBe('answered');
    expect(service.requests.map(({ trace }) => trace)).toEqual([null, null, null, null]);
  });

  it.each(['\r\n', '\n', '\r', '\0'])('is no token: %j', async (byte) => {
    const { service, client } = await open();
    for (const [name, value] of [
      ['authorization', `Bearer s3cret${byte}`],
      ['authorization', `Bearer ${byte}s3cret`],
      ['x-note', `a${byte}authorization: Bearer s3cret`],
    ] as const)
      expect(await client.infer({ [name]: value })).toBe('refused');
    expect(service.requests).toEqual([]);
    expect(await client.infer(TOKEN)).toBe('answered');
  });

  it.each(['\r\n', '\n', '\0'])('ends its own call where it says what is called: %j', async (byte) => {
    const { service, client } = await open();
    expect(await client.infer(TOKEN, `${INFER}${byte}`)).toBe('reset');
    expect(service.requests).toEqual([]);
    expect(await client.infer(TOKEN)).toBe('answered');
  });

  it('ends its own call where a name has capitals', async () => {
    const { client } = await open();
    expect(await client.infer({ ...TOKEN, 'X-Note': 'a' })).toBe('reset');
    expect(await client.infer(TOKEN)).toBe('answered');
  });
});
