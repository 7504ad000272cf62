import { Agent } from 'node:http';
import { Agent as TlsAgent } from 'node:https';
import { deflateSync, gunzipSync, gzipSync } from 'node:zlib';
import { type Ask, absent, type Case, check, rows, shown, skip } from '../case.js';
import { blamed, ok, refusedGrpc, same, status } from '../columns.js';
import { converse, type Endpoint, type Headers, HttpAnswer, head, statusIn } from '../http.js';
import { outputsOfHttp } from '../tensors.js';
import { INFER, jsonInputs, type Trial } from '../trial.js';

const robustness = rows('robustness');
const AT_ONCE = 32;
const IDS = ['a', 'b', 'c'];
const DEPTH = 100_000;
const MANY_OUTPUTS = 2000;
const BOMB_BYTES = 64 * 1024 * 1024;
const LONG = 'a'.repeat(256 * 1024);

/** What HTTP allows clients to do, and clients do. */
const ALLOWED: readonly Case[] = [
  // RFC 9112: 9.3, 9.3.2, 9.6, 7.1, 6.
  robustness.advice('keep-alive', onOneConnection),
  robustness.advice(
    'pipelining',
    (t) => converse(t.endpoint, IDS.map((id) => inferBytes(t, id)).join(''), hasAllIds),
    (text) => check(shown(idsIn(text)) === shown(IDS), `the ids that came back are ${shown(idsIn(text))}`),
  ),
  // A client that ends its side may have gone for good, and is answered or not.
  robustness.advice(
    'half-closed',
    (t) => converse(t.endpoint, inferBytes(t, 'half'), () => false, true),
    (text) =>
      check(
        statusIn(text) === null || statusIn(text) === 499 || text.includes('"outputs"'),
        `the answer is ${shown(text)}`,
      ),
  ),
  robustness.advice('chunked', inferInParts(2, { 'transfer-encoding': 'chunked' }), same),
  robustness.advice('slow-body', inferInParts(20), same),
  // RFC 9110: 10.1.1, 9.1, 9.3.7.
  robustness.advice('expect', inferInParts(1, { expect: '100-continue' }), same),
  robustness.advice('head', async (t) => {
    for (const path of ['/v2/health/live', '/v2/health/ready', '/v2'])
      status(200)(await t.http('HEAD', path), t);
  }),
  robustness.advice(
    'options',
    (t) => t.http('OPTIONS', INFER),
    ({ status: got, headers: { allow = '' } }) =>
      check(got >= 200 && got < 300 && /\bPOST\b/.test(allow), `the status is ${got}, Allow ${shown(allow)}`),
  ),
  // RFC 9112, 3.2.2.
  robustness.advice(
    'absolute-form',
    (t) => t.http('GET', `${t.endpoint.url.href.replace(/\/$/, '')}/v2/health/live`),
    status(200),
  ),
  // RFC 3986, 6.2.2.2: a name with a percent-encoded letter is the same name.
  robustness.advice('percent', (t) => t.http('GET', `/v2/models/${encodedName(t)}/ready`), status(200)),
  // RFC 7493, 4.2.
  robustness.advice(
    'unknown-members',
    (t) => t.infer({ model_name: t.model.name, conform: { a: [1, { b: null }] } }),
    same,
  ),
  robustness.advice('null-members', (t) => t.infer({ id: null, parameters: null, outputs: null }), same),
  robustness.required('at-once', inferAtOnce, (answers) => {
    const limited = answers.find((answer) => answer.status === 429 && /\brate\b/.test(answer.text));
    if (limited !== undefined) skip(`the server limits the rate of requests: ${shown(limited.text)}`);
    for (const [i, answer] of answers.entries()) {
      outputsOfHttp(answer);
      check(answer.json().id === String(i), `request ${i} got the answer ${shown(answer.json().id)}`);
    }
  }),
  // RFC 9110: 8.4, 12.5.3.
  robustness.optional('gzip', inferEncoded('gzip', gzipSync), sameIfSupported),
  robustness.optional('deflate', inferEncoded('deflate', deflateSync), sameIfSupported),
  robustness.optional(
    'gzip-answer',
    (t) => t.postInfer(bodyOf(t), { 'accept-encoding': 'gzip' }),
    (answer, t) => {
      const { 'content-encoding': encoding = 'identity' } = answer.headers;
      if (encoding === 'identity') absent('the answer is not encoded');
      check(encoding === 'gzip', `the encoding is ${shown(encoding)}`);
      const body = gunzipSync(answer.body, { maxOutputLength: BOMB_BYTES });
      return same(new HttpAnswer(answer.status, answer.headers, body), t);
    },
  ),
];

/**
 * What a client should not send, in sizes that cost a careful server nothing. It is refused, or the connection is closed, and
 * after each a well-behaved client is answered.
 */
const HOSTILE: readonly Case[] = [
  // RFC 8259: 9, 8.1, 4.
  hostile('deep-data', inferDeep('data')),
  hostile('deep-id', inferDeep('id')),
  hostile('deep-shape', inferDeep('shape')),
  hostile('deep-parameters', inferDeep('parameters')),
  hostile('deep-inputs', inferDeep('inputs')),
  hostile(
    'bad-utf8',
    inferAs((t) => Buffer.from(bodyOf(t, { id: 'BAD' }).replace('BAD', '\xff\xfe\xc0\x80'), 'latin1')),
  ),
  hostile(
    'proto',
    inferAs((t) => bodyOf(t, { outputs: [{ name: '__proto__' }] })),
  ),
  robustness.advice(
    'duplicate-keys',
    (t) => t.postInfer(`{${'"id":"1",'.repeat(10_000)}${bodyOf(t).slice(1)}`),
    isHarmless,
  ),
  // Like CVE-2026-24146: refused or answered once, not multiplied.
  robustness.advice('repeated-outputs', inferRepeated, async (answer, t) => {
    const single = (await t.infer()).body.length;
    const { length } = answer.body;
    check(length < 20 * single + 2000, `the answer grew from ${single} to ${length} bytes`);
    await isHarmless(answer, t);
  }),
  // RFC 9110, 15.5.14: refused before the body, or waited for without harm to others.
  hostile('declared-size', malformed('content-length: 1000000000000\r\n\r\n'), 599),
  // RFC 9112: 6.3, 11.2, 7.1, 3.2.
  hostile('two-lengths', malformed('content-length: 5\r\ncontent-length: 6\r\n\r\n{"a"}\n')),
  hostile(
    'smuggling',
    malformed(
      'content-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\nGET /v2/health/live HTTP/1.1\r\n\r\n',
    ),
  ),
  hostile('bad-chunk', malformed('transfer-encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n')),
  hostile('no-host', ({ endpoint }) => statusOf(endpoint, 'GET /v2/health/live HTTP/1.1\r\n\r\n'), 400),
  // RFC 6585, 5.
  hostile('long-path', getRaw(`/v2/models/${LONG}`), 599),
  hostile('long-header', getRaw('/v2', { 'x-conform': LONG }), 599),
  // Like CVE-2026-24208: names that climb out of the repository.
  robustness.advice('traversal', async (t) => {
    for (const name of ['..%2f..%2f..%2fetc%2fpasswd', '%2e%2e', '..%5c..%5cwindows', 'a%00b', '%ff'])
      blamed(await t.http('GET', `/v2/models/${name}`));
    await isWell(t);
  }),
  // Clients that leave in the middle of a request.
  robustness.advice('leaves', async (t) => {
    const start = `${head(t.endpoint, `POST ${pathOf(t)}`, { 'content-length': '5000' })}{"inputs"`;
    const impatient = { ...t.endpoint, timeoutMs: 20 };
    await Promise.all(Array.from({ length: 20 }, () => converse(impatient, start, () => false)));
    await isWell(t);
  }),
  hostile('gzip-bomb', async (t) => {
    const bomb = gzipSync(Buffer.alloc(BOMB_BYTES, ' '));
    const answer = await t.http('POST', INFER, { body: bomb, headers: { 'content-encoding': 'gzip' } });
    return answer.status === 415 ? absent('gzip is not supported') : answer;
  }),
  robustness.advice('grpc-empty-inputs', inferEmptyInputs, async (answer, t) => {
    refusedGrpc(answer);
    await ok(() => true)(await t.inferGrpc(t.rawRequest()), t);
  }),
  robustness.required('at-the-end', async (t) => {
    for (const path of ['/v2/health/live', '/v2/health/ready']) status(200)(await t.http('GET', path), t);
    await isWell(t);
  }),
];

export const ROBUSTNESS: readonly Case[] = [...ALLOWED, ...HOSTILE];

/** The body of an inference, in ASCII, so that characters are bytes. */
function bodyOf(t: Trial, more: object = {}): string {
  const text = JSON.stringify({ ...more, inputs: jsonInputs(t.inputs()) });
  return text.replace(/[\u0080-\uffff]/g, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

function pathOf({ endpoint: { url }, model: { name } }: Trial): string {
  return url.pathname.replace(/\/+$/, '') + INFER.replace('{name}', encodeURIComponent(name));
}

function encodedName({ model: { name } }: Trial): string {
  return `%${name.charCodeAt(0).toString(16).padStart(2, '0')}${encodeURIComponent(name.slice(1))}`;
}

/** A whole inference as it goes over the wire. */
function inferBytes(t: Trial, id: string): string {
  const body = bodyOf(t, { id });
  const headers = { 'content-type': 'application/json', 'content-length': String(body.length) };
  return head(t.endpoint, `POST ${pathOf(t)}`, headers) + body;
}

/** The ids of successful answers. */
function idsIn(text: string): string[] {
  const answers = text.split(/(?=HTTP\/1\.1 \d{3} )/).filter((answer) => answer.startsWith('HTTP/1.1 200 '));
  return answers.flatMap((answer) => /"id": ?"(\w+)"/.exec(answer)?.[1] ?? []);
}

function hasAllIds(text: string): boolean {
  return idsIn(text).length === IDS.length;
}

async function onOneConnection(t: Trial): Promise<void> {
  const isTls = t.endpoint.url.protocol === 'https:';
  const agent = new (isTls ? TlsAgent : Agent)({ keepAlive: true, maxSockets: 1 });
  for (const [i, id] of IDS.entries()) {
    const answer = await t.http('POST', INFER, { body: bodyOf(t, { id }), agent });
    outputsOfHttp(answer);
    check(answer.json().id === id, `${id} came back as ${shown(answer.json().id)}`);
    check(answer.reused === i > 0, `the connection closed after ${i} answers`);
  }
  agent.destroy();
}

function inferInParts(parts: number, headers: Headers = {}): Ask {
  return (t) => {
    const text = Buffer.from(bodyOf(t));
    const step = Math.ceil(text.length / parts);
    const body = Array.from({ length: parts }, (_, i) => text.subarray(i * step, (i + 1) * step));
    return t.http('POST', INFER, { headers, body });
  };
}

function inferAtOnce(t: Trial) {
  const infer = (_: unknown, i: number) => t.infer({ id: String(i) }, jsonInputs(t.inputs(i % 4)));
  return Promise.all(Array.from({ length: AT_ONCE }, infer));
}

function inferEncoded(coding: string, encode: (text: string) => Buffer): Ask {
  return (t) => t.postInfer(encode(bodyOf(t)), { 'content-encoding': coding });
}

async function sameIfSupported(answer: HttpAnswer, t: Trial): Promise<void> {
  if (answer.status >= 400 && answer.status < 500) absent(`the status is ${answer.status}`);
  await same(answer, t);
}

/** A case whose answer is an error, by default one that blames the client, or a closed connection. */
function hostile(
  name: string,
  ask: (t: Trial) => Promise<{ readonly status: number } | null>,
  most = 499,
): Case {
  return robustness.advice(name, ask, async (answer, t) => {
    if (answer !== null)
      check(answer.status >= 400 && answer.status <= most, `the status is ${answer.status}`);
    await isWell(t);
  });
}

function inferAs(make: (t: Trial) => string | Buffer): Ask {
  return (t) => t.http('POST', INFER, { body: make(t) });
}

/** An inference in which one member is nested. */
function inferDeep(member: string): Ask {
  return inferAs((t) => {
    const deep = `${'['.repeat(DEPTH)}1${']'.repeat(DEPTH)}`;
    const [first, ...others] = jsonInputs(t.inputs());
    const inInput = member === 'data' || member === 'shape';
    const inputs = [inInput ? { ...first, [member]: 'DEEP' } : first, ...others];
    return JSON.stringify(inInput ? { inputs } : { inputs, [member]: 'DEEP' }).replace('"DEEP"', deep);
  });
}

function inferRepeated(t: Trial) {
  return t.infer({ outputs: Array(MANY_OUTPUTS).fill({ name: t.model.outputs[0]?.name }) });
}

function inferEmptyInputs(t: Trial) {
  return t.call('ModelInfer', { model_name: t.model.name, inputs: Array(100_000).fill({}) });
}

/** A request that only a raw connection can send, from the middle of its headers. While it is open, others are answered. */
function malformed(rest: string) {
  return async (t: Trial) => {
    const start = head(t.endpoint, `POST ${pathOf(t)}`, { 'content-type': 'application/json' }).slice(0, -2);
    const answer = statusOf(t.endpoint, `${start}${rest}`);
    await isWell(t);
    return answer;
  };
}

function getRaw(path: string, headers: Headers = {}) {
  return ({ endpoint }: Trial) => {
    const base = endpoint.url.pathname.replace(/\/+$/, '');
    return statusOf(endpoint, head(endpoint, `GET ${base}${path}`, headers));
  };
}

/** Status of the answer to bytes; null: the connection closed, or stays silent. */
async function statusOf(endpoint: Endpoint, bytes: string): Promise<{ status: number } | null> {
  const got = statusIn(await converse(endpoint, bytes, (text) => text.includes('\r\n')));
  return got === null ? null : { status: got };
}

/** Fails unless a well-behaved client is answered. */
async function isWell(t: Trial): Promise<void> {
  outputsOfHttp(await t.infer());
}

async function isHarmless({ status: got }: HttpAnswer, t: Trial): Promise<void> {
  check(got < 500, `the status is ${got}`);
  await isWell(t);
}
