import { deflateSync, gunzipSync, gzipSync } from 'node:zlib';
import type { ConformCase } from '../case.js';
import { absent, check, fail, skip } from '../finding.js';
import { checkSame, outputsOfHttp } from '../model/answers.js';
import { jsonInputs } from '../model/requests.js';
import { shown } from '../plain.js';
import type { Trial } from '../trial.js';
import { HttpAnswer } from '../wire/http-answer.js';

const ADVICE = { level: 'advice' } as const;
const AT_ONCE = 32;

/** What HTTP allows clients to do, and clients do. */
export const ROBUST_HTTP: readonly ConformCase[] = [
  {
    ...ADVICE,
    id: 'robustness.keep-alive',
    section: 'RFC 9112, 9.3',
    says: 'a connection takes one request after the other',
    run: async (trial) => {
      const got = await onOneConnection(trial, ['a', 'b', 'c'], false);
      check(shown(got) === shown(['a', 'b', 'c']), `the ids that came back are ${shown(got)}`);
    },
  },
  {
    ...ADVICE,
    id: 'robustness.pipelining',
    section: 'RFC 9112, 9.3.2',
    says: 'requests that are sent at once on a connection are answered in their order',
    run: async (trial) => {
      const got = await onOneConnection(trial, ['a', 'b', 'c'], true);
      check(shown(got) === shown(['a', 'b', 'c']), `the ids that came back are ${shown(got)}`);
    },
  },
  {
    ...ADVICE,
    id: 'robustness.half-closed',
    section: 'RFC 9112, 9.6 and RFC 9293, 3.6',
    says: 'a client that has closed its side after the request gets its answer',
    run: async (trial) => {
      const connection = await trial.http.open();
      try {
        connection.write(request(trial, { id: 'half' }));
        connection.endWriting();
        const answer = await trial.http.read(
          connection,
          'POST',
          'POST …/infer, then the end of the connection',
        );
        outputsOfHttp(answer ?? fail('the server closed the connection without an answer'));
      } finally {
        connection.close();
      }
    },
  },
  {
    ...ADVICE,
    id: 'robustness.chunked',
    section: 'RFC 9112, 7.1 (a server must decode it)',
    says: 'a body in chunks is answered as a body with a length',
    run: async (trial) => {
      const text = bodyOf(trial, {});
      const half = Math.floor(text.length / 2);
      const chunks = [text.slice(0, half), text.slice(half)];
      const body = `${chunks.map((chunk) => `${chunk.length.toString(16)}\r\n${chunk}\r\n`).join('')}0\r\n\r\n`;
      const answer = await raw(trial, { 'transfer-encoding': 'chunked' }, [body]);
      checkSame(await trial.reference(), outputsOfHttp(answer), ['a length', 'chunks']);
    },
  },
  {
    ...ADVICE,
    id: 'robustness.slow-body',
    section: 'RFC 9112, 6',
    says: 'a body that comes in many small packets is answered as one that comes at once',
    run: async (trial) => {
      const text = bodyOf(trial, {});
      const step = Math.ceil(text.length / 20);
      const parts = Array.from({ length: 20 }, (_, i) => text.slice(i * step, (i + 1) * step));
      const answer = await raw(trial, { 'content-length': String(text.length) }, parts);
      checkSame(await trial.reference(), outputsOfHttp(answer), ['at once', 'slowly']);
    },
  },
  {
    ...ADVICE,
    id: 'robustness.expect',
    section: 'RFC 9110, 10.1.1',
    says: 'a client that sends Expect: 100-continue gets its answer',
    run: async (trial) => {
      const text = bodyOf(trial, {});
      const headers = { 'content-length': String(text.length), expect: '100-continue' };
      outputsOfHttp(await raw(trial, headers, [text]));
    },
  },
  {
    ...ADVICE,
    id: 'robustness.head',
    section: 'RFC 9110, 9.1 (servers must support GET and HEAD)',
    says: 'HEAD is answered as GET, without a body',
    run: async ({ http }) => {
      for (const path of ['/v2/health/live', '/v2/health/ready', '/v2']) {
        const { status } = await http.ask({ method: 'HEAD', path });
        check(status === 200, `HEAD ${path} is answered ${status}`);
      }
    },
  },
  {
    ...ADVICE,
    id: 'robustness.options',
    section: 'RFC 9110, 9.3.7',
    says: 'OPTIONS is answered with a success and Allow',
    run: async ({ http, path }) => {
      const { status, headers } = await http.ask({ method: 'OPTIONS', path: `${path}/infer` });
      check(status >= 200 && status < 300, `the status is ${status}`);
      check(/\bPOST\b/.test(headers.get('allow') ?? ''), `Allow is ${shown(headers.get('allow'))}`);
    },
  },
  {
    ...ADVICE,
    id: 'robustness.absolute-form',
    section: 'RFC 9112, 3.2.2 (a server must accept it)',
    says: 'a request target in absolute form is understood',
    run: async ({ http, endpoint }) => {
      const connection = await http.open();
      try {
        const { host, origin } = endpoint.url;
        const target = `${origin}${http.base}/v2/health/live`;
        connection.write(`GET ${target} HTTP/1.1\r\nhost: ${host}\r\nconnection: close\r\n\r\n`);
        const answer = await http.read(connection, 'GET', `GET ${target}`);
        check(answer?.status === 200, `the status is ${answer?.status ?? 'none'}`);
      } finally {
        connection.close();
      }
    },
  },
  {
    ...ADVICE,
    id: 'robustness.percent',
    section: 'RFC 3986, 6.2.2.2',
    says: 'a model name with a percent-encoded letter is the same name',
    run: async ({ http, subject }) => {
      const [first = ''] = subject.name;
      const code = first.charCodeAt(0).toString(16).padStart(2, '0');
      const { status } = await http.get(
        `/v2/models/%${code}${encodeURIComponent(subject.name.slice(1))}/ready`,
      );
      check(status === 200, `the status is ${status}`);
    },
  },
  {
    ...ADVICE,
    id: 'robustness.unknown-members',
    section: 'RFC 7493, 4.2 (must-ignore policy)',
    says: 'members of the request that a server does not know do no harm',
    run: async (trial) => {
      const answer = await trial.infer({ model_name: trial.subject.name, conform: { a: [1, { b: null }] } });
      checkSame(await trial.reference(), outputsOfHttp(answer), ['no other members', 'some']);
    },
  },
  {
    ...ADVICE,
    id: 'robustness.null-members',
    section: 'REST, Inference Request JSON Object (#optional)',
    says: 'optional members that are null count as absent',
    run: async (trial) => {
      const answer = await trial.infer({ id: null, parameters: null, outputs: null });
      checkSame(await trial.reference(), outputsOfHttp(answer), ['absent', 'null']);
    },
  },
  {
    level: 'required',
    id: 'robustness.at-once',
    section: 'REST, Inference ("this identifier must be returned")',
    says: `of ${AT_ONCE} requests at once, each gets the answer to its own id and inputs`,
    run: async (trial) => {
      const seeds = Array.from({ length: AT_ONCE }, (_, i) => i);
      const answers = await Promise.all(
        seeds.map((seed) =>
          trial.infer({ id: String(seed) }, { inputs: jsonInputs(trial.inputs(seed % 4)) }),
        ),
      );
      const limited = answers.find(({ status, text }) => status === 429 && /\brate\b/.test(text));
      if (limited !== undefined) skip(`the server limits the rate of requests: ${shown(limited.text)}`);
      for (const [seed, answer] of answers.entries()) {
        outputsOfHttp(answer);
        const { id } = answer.object();
        check(id === String(seed), `request ${seed} got the answer ${shown(id)}`);
      }
    },
  },
  encoded('gzip', gzipSync),
  encoded('deflate', deflateSync),
  {
    id: 'robustness.gzip-answer',
    level: 'optional',
    section: 'RFC 9110, 12.5.3',
    says: 'Accept-Encoding: gzip is answered with gzip that decodes to the same, or with no encoding',
    run: async (trial) => {
      const answer = await trial.postInfer(bodyOf(trial, {}), { 'accept-encoding': 'gzip' });
      const encoding = answer.header('content-encoding') ?? 'identity';
      if (encoding === 'identity') absent('the answer is not encoded');
      check(encoding === 'gzip', `the encoding is ${shown(encoding)}`);
      const body = gunzipSync(answer.body, { maxOutputLength: trial.endpoint.maxAnswerBytes });
      const plain = new HttpAnswer(answer.status, answer.headers, body, answer.closes);
      checkSame(await trial.reference(), outputsOfHttp(plain), ['identity', 'gzip']);
    },
  },
];

function encoded(coding: string, encode: (text: string) => Buffer): ConformCase {
  return {
    id: `robustness.${coding}`,
    level: 'optional',
    section: 'RFC 9110, 8.4',
    says: `a body with Content-Encoding: ${coding} is answered as one without`,
    run: async (trial) => {
      const answer = await trial.postInfer(encode(bodyOf(trial, {})), { 'content-encoding': coding });
      if (answer.status >= 400 && answer.status < 500) absent(`the status is ${answer.status}`);
      checkSame(await trial.reference(), outputsOfHttp(answer), ['identity', coding]);
    },
  };
}

/** The ids that come back on one connection, by requests one after the other or all at once. */
async function onOneConnection(trial: Trial, ids: readonly string[], atOnce: boolean): Promise<unknown[]> {
  const connection = await trial.http.open();
  try {
    const got: unknown[] = [];
    const all = ids.map((id) => request(trial, { id }));
    if (atOnce) connection.write(Buffer.concat(all));
    for (const [i, id] of ids.entries()) {
      if (!atOnce) connection.write(all[i]!);
      const answer = await trial.http.read(connection, 'POST', `POST …/infer, id ${id}`);
      if (answer === null) return fail(`the server closed the connection after ${i} answers`);
      outputsOfHttp(answer);
      got.push(answer.object().id);
    }
    return got;
  } finally {
    connection.close();
  }
}

/** Sends the headers of an inference, then the parts of its body with pauses between them. */
async function raw(
  trial: Trial,
  headers: Readonly<Record<string, string>>,
  parts: readonly string[],
): Promise<HttpAnswer> {
  const { http, path } = trial;
  const connection = await http.open();
  try {
    const all = { 'content-type': 'application/json', connection: 'close', ...headers };
    connection.write(http.head('POST', `${path}/infer`, all));
    for (const part of parts) {
      connection.write(part);
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
    const answer = await http.read(connection, 'POST', `POST …/infer ${shown(headers)}`);
    return answer ?? fail('the server closed the connection without an answer');
  } finally {
    connection.close();
  }
}

function request(trial: Trial, more: object): Buffer {
  const headers = { 'content-type': 'application/json' };
  return trial.http.bytesOf({
    method: 'POST',
    path: `${trial.path}/infer`,
    headers,
    body: bodyOf(trial, more),
  });
}

/** The body of an inference, in ASCII, so that characters are bytes. */
function bodyOf(trial: Trial, more: object): string {
  const text = JSON.stringify({ ...more, inputs: jsonInputs(trial.inputs()) });
  return text.replace(/[\u0080-\uffff]/g, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
