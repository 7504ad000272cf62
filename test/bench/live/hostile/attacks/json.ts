import { gzipSync } from 'node:zlib';
import { type Headers, head, post, repeatOpen, write } from '../sockets.js';
import { repeat, type Tally } from '../tally.js';
import { type Attack, SMALL, type Target } from '../target.js';

/** Bodies of HTTP requests that are dear to parse, to keep or to answer. */

const PATH = `/v2/models/${SMALL.name}/infer`;
const MEGA = 1_000_000;
/** What is not answered costs less. */
const PATIENT = '"parameters":{"slo_ms":60000}';

const bodies: readonly (readonly [string, number, () => Buffer, Headers?])[] = [
  ['json 60 MB of numbers', 2, () => inputJson(`[${'1.5,'.repeat(15 * MEGA)}1]`)],
  ['json 3 million keys', 2, () => Buffer.from(`{${keys(3 * MEGA)}}`)],
  ['json 64 MB of small objects', 2, () => Buffer.from(`{"a":[${'{},'.repeat(21 * MEGA)}{}]}`)],
  ['json 10 million levels', 2, () => Buffer.from('['.repeat(10 * MEGA) + ']'.repeat(10 * MEGA))],
  ['json 100,000 levels in id', 4, () => nested('id')],
  ['json 100,000 levels in shape', 4, () => nestedInput('shape')],
  ['json 100,000 levels in data', 4, () => nestedInput('data')],
  // Below any limit that honest clients need.
  ['json 3.9 MB of numbers', 10, () => inputJson(`[${'1,'.repeat(1.95 * MEGA)}1]`)],
  ['json 3.9 MB of keys', 10, () => Buffer.from(`{${keys(0.29 * MEGA)}}`)],
  ['json 3.9 MB of small objects', 10, () => Buffer.from(`{"a":[${'{},'.repeat(1.29 * MEGA)}{}]}`)],
  ['json 3.9 MB of escapes', 10, () => Buffer.from(`{"id":"${'\\u0041'.repeat(0.64 * MEGA)}"}`)],
  ['an output named 10,000 times', 4, () => repeatedOutputs(10_000)],
  ['an output named 100,000 times', 4, () => repeatedOutputs(100_000)],
  ['gzip bomb of 400 MB', 4, () => gzipSync(Buffer.alloc(400 * MEGA, ' ')), { 'content-encoding': 'gzip' }],
  ['gzip bomb of 60 MB of objects', 4, objectsBomb, { 'content-encoding': 'gzip' }],
];

export const JSON_ATTACKS: readonly Attack[] = [
  ...bodies.map(
    ([name, lanes, make, headers = {}]): Attack => ({
      name,
      setting: 'plain',
      run: (target, tally, untilMs) => postAgain(target, tally, untilMs, lanes, make(), headers),
    }),
  ),
  { name: 'one-byte chunks, 12 million', setting: 'plain', run: tinyChunks },
  { name: 'sizes that lie, in binary data', setting: 'plain', run: lyingSizes },
  { name: 'header length that lies', setting: 'plain', run: lyingHeaderLengths },
];

function postAgain(
  target: Target,
  tally: Tally,
  untilMs: number,
  lanes: number,
  body: Buffer,
  headers: Headers,
): Promise<void> {
  return repeat(lanes, untilMs, () => post(target, tally, { path: PATH, body, headers }));
}

function inputJson(data: string): Buffer {
  return Buffer.from(
    `{"inputs":[{"name":"input","datatype":"FP32","shape":[1,${SMALL.elements}],"data":${data}}]}`,
  );
}

function keys(count: number): string {
  return Array.from({ length: count }, (_, i) => `"k${i}":0`).join(',');
}

function nest(): string {
  return '['.repeat(100_000) + ']'.repeat(100_000);
}

function nested(name: string): Buffer {
  return Buffer.from(`{"${name}":${nest()},"inputs":[]}`);
}

function nestedInput(name: string): Buffer {
  return Buffer.from(`{"inputs":[{"name":"input","datatype":"FP32","${name}":${nest()}}]}`);
}

function repeatedOutputs(count: number): Buffer {
  const data = '0,'.repeat(SMALL.elements - 1);
  const outputs = Array.from({ length: count }, () => '{"name":"output"}').join(',');
  return Buffer.from(
    `{${PATIENT},"inputs":[{"name":"input","datatype":"FP32","shape":[1,${SMALL.elements}],"data":[${data}0]}],` +
      `"outputs":[${outputs}]}`,
  );
}

function objectsBomb(): Buffer {
  return gzipSync(Buffer.from(`{"a":[${'{},'.repeat(20 * MEGA)}{}]}`));
}

/** 72 MB on the wire for 12 MB of content, on two connections. */
async function tinyChunks(target: Target, tally: Tally, untilMs: number): Promise<void> {
  const chunks = Buffer.from('1\r\n1\r\n'.repeat(10_000));
  await repeatOpen(target, tally, 2, untilMs, async (socket) => {
    await write(socket, head('POST', PATH, { 'transfer-encoding': 'chunked' }));
    for (let sent = 0; sent < 12 * MEGA && performance.now() < untilMs; sent += 10_000) {
      if (!(await write(socket, chunks))) break;
    }
  });
}

const LIES = ['-1', '9007199254740993', '1e300', '4294967300', '18446744073709551615', '0.5'];

async function lyingSizes(target: Target, tally: Tally, untilMs: number): Promise<void> {
  const shapes = [
    `[1,${SMALL.elements}]`,
    '[4294967296,4294967296]',
    '[-1,-1]',
    '[9223372036854775807,2]',
    '[1e308]',
  ];
  await repeat(8, untilMs, async (round) => {
    const size = LIES[round % LIES.length];
    const shape = shapes[Math.floor(round / LIES.length) % shapes.length];
    const json = Buffer.from(
      `{"inputs":[{"name":"input","datatype":"FP32","shape":${shape},"parameters":{"binary_data_size":${size}}}]}`,
    );
    const body = Buffer.concat([json, Buffer.alloc(SMALL.elements * 4)]);
    await post(target, tally, {
      path: PATH,
      body,
      headers: { 'inference-header-content-length': json.length },
    });
  });
}

async function lyingHeaderLengths(target: Target, tally: Tally, untilMs: number): Promise<void> {
  await repeat(8, untilMs, (round) =>
    post(target, tally, {
      path: PATH,
      body: Buffer.alloc(5000, '{'),
      headers: { 'inference-header-content-length': LIES[round % LIES.length] },
    }),
  );
}
