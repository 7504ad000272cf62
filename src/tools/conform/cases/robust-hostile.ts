import { gzipSync } from 'node:zlib';
import type { ConformCase } from '../case.js';
import { absent, check, skip } from '../finding.js';
import { outputsOfHttp } from '../model/answers.js';
import { jsonInputs, rawGrpcRequest } from '../model/requests.js';
import type { Trial } from '../trial.js';
import type { HttpAnswer } from '../wire/http-answer.js';
import { NoAnswer } from '../wire/http-connection.js';

const DEPTH = 100_000;
const MANY_OUTPUTS = 2000;
const BOMB_BYTES = 64 * 1024 * 1024;
const LONG = 256 * 1024;

/**
 * What a client should not send, in sizes that cost a careful server nothing. After each, a well-behaved client must be
 * answered.
 */
export const ROBUST_HOSTILE: readonly ConformCase[] = [
  ...(['data', 'id', 'shape', 'parameters', 'inputs'] as const).map((member) =>
    refusedBody(
      `deep-${member}`,
      'RFC 8259, 9',
      `JSON that is ${DEPTH} levels deep in "${member}" is refused, not a failure of the server`,
      (trial) => deepBody(trial, member),
    ),
  ),
  refusedBody('bad-utf8', 'RFC 8259, 8.1', 'a body that is not UTF-8 is refused', (trial) =>
    Buffer.concat([
      Buffer.from('{"id":"'),
      Buffer.from([0xff, 0xfe, 0xc0, 0x80]),
      Buffer.from(`","inputs":${JSON.stringify(jsonInputs(trial.inputs()))}}`),
    ]),
  ),
  refusedBody('proto', 'RFC 8259, 4', 'a tensor named __proto__ is refused as any unknown name', (trial) =>
    JSON.stringify({ inputs: jsonInputs(trial.inputs()), outputs: [{ name: '__proto__' }] }),
  ),
  {
    ...advice('duplicate-keys'),
    section: 'RFC 8259, 4',
    says: 'a body with the same key many times does no harm',
    run: async (trial) => {
      const keys = '"id":"1",'.repeat(10_000);
      const body = `{${keys}"inputs":${JSON.stringify(jsonInputs(trial.inputs()))}}`;
      checkNoFailure(await trial.postInfer(body));
      await checkWell(trial);
    },
  },
  {
    ...advice('repeated-outputs'),
    section: 'CVE-2026-24146 (class)',
    says: `one output asked for ${MANY_OUTPUTS} times is refused or answered once, not multiplied`,
    run: async (trial) => {
      const single = await trial.infer();
      const name = trial.subject.outputs[0]?.name;
      const answer = await trial.infer({ outputs: Array.from({ length: MANY_OUTPUTS }, () => ({ name })) });
      checkNoFailure(answer);
      const most = 20 * single.body.length + 2000;
      check(
        answer.body.length < most,
        `the answer grew from ${single.body.length} to ${answer.body.length} bytes`,
      );
      await checkWell(trial);
    },
  },
  {
    ...advice('declared-size'),
    section: 'RFC 9110, 15.5.14',
    says: 'a Content-Length of 1 TB is refused before the body, or waited for without harm to others',
    run: async (trial) => {
      const headers = { 'content-type': 'application/json', 'content-length': '1000000000000' };
      await whileOpen(trial, trial.http.head('POST', `${trial.path}/infer`, headers), async (connection) => {
        await checkWell(trial);
        const answer = await connection;
        if (answer !== null) check(answer.status >= 400, `the status is ${answer.status}`);
      });
    },
  },
  ...[
    ['two-lengths', 'content-length: 5\r\ncontent-length: 6\r\n\r\n{"a"}\n', 'two lengths that differ'],
    [
      'smuggling',
      'content-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\nGET /v2/health/live HTTP/1.1\r\n\r\n',
      'a length next to chunks',
    ],
    [
      'bad-chunk',
      'transfer-encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n',
      'a chunk whose length is no number',
    ],
  ].map(
    ([name = '', rest = '', what = '']): ConformCase => ({
      ...advice(name),
      section: 'RFC 9112, 6.3 and 11.2',
      says: `${what}: refused with 400, or the connection is closed`,
      run: async (trial) => {
        const { http, path } = trial;
        const start = http.head('POST', `${path}/infer`, { 'content-type': 'application/json' }).slice(0, -2);
        await whileOpen(trial, `${start}${rest}`, async (connection) => {
          const answer = await connection;
          check(
            answer === null || (answer.status >= 400 && answer.status < 500),
            `the status is ${answer?.status}`,
          );
        });
        await checkWell(trial);
      },
    }),
  ),
  {
    ...advice('no-host'),
    section: 'RFC 9112, 3.2 (a server must answer 400)',
    says: 'a request without Host is refused',
    run: async (trial) =>
      whileOpen(trial, 'GET /v2/health/live HTTP/1.1\r\n\r\n', async (connection) => {
        const answer = await connection;
        check(answer === null || answer.status === 400, `the status is ${answer?.status}`);
      }),
  },
  ...(['path', 'header'] as const).map(
    (where): ConformCase => ({
      ...advice(`long-${where}`),
      section: where === 'path' ? 'RFC 9110, 15.5.15' : 'RFC 6585, 5',
      says: `a ${where} of ${LONG / 1024} KiB is refused, or the connection is closed`,
      run: async (trial) => {
        const long = 'a'.repeat(LONG);
        const path = where === 'path' ? `/v2/models/${long}` : '/v2/models/conform-no-such-model';
        const headers = where === 'path' ? {} : { 'x-conform': long };
        await whileOpen(trial, trial.http.head('GET', path, headers), async (connection) => {
          const answer = await connection;
          check(answer === null || answer.status >= 400, `the status is ${answer?.status}`);
        });
        await checkWell(trial);
      },
    }),
  ),
  {
    ...advice('traversal'),
    section: 'RFC 3986, 7 and CVE-2026-24208 (class)',
    says: 'model names that climb out of the repository are refused',
    run: async (trial) => {
      for (const name of ['..%2f..%2f..%2fetc%2fpasswd', '%2e%2e', '..%5c..%5cwindows', 'a%00b', '%ff']) {
        const { status } = await trial.http.get(`/v2/models/${name}`);
        check(status >= 400 && status < 500, `${name} is answered ${status}`);
      }
      await checkWell(trial);
    },
  },
  {
    ...advice('leaves'),
    section: 'RFC 9112, 9.6',
    says: 'clients that leave in the middle of a request disturb no one',
    run: async (trial) => {
      for (let i = 0; i < 20; i++) {
        const connection = await trial.http.open();
        connection.write(trial.http.head('POST', `${trial.path}/infer`, { 'content-length': '5000' }));
        connection.write('{"inputs"');
        connection.close();
      }
      await checkWell(trial);
    },
  },
  {
    ...advice('gzip-bomb'),
    section: 'RFC 9110, 8.4',
    says: `${BOMB_BYTES / 1024 / 1024} MiB of spaces in 64 KiB of gzip are refused, not a failure of the server`,
    run: async (trial) => {
      const spaces = gzipSync(Buffer.alloc(BOMB_BYTES, ' '));
      const answer = await trial.http.post(`${trial.path}/infer`, spaces, { 'content-encoding': 'gzip' });
      if (answer.status === 415) absent('gzip is not supported');
      checkMistake(answer);
      await checkWell(trial);
    },
  },
  {
    ...advice('grpc-empty-inputs'),
    section: 'gRPC, Inference',
    says: 'a message of 100,000 empty inputs is refused',
    run: async (trial) => {
      const inputs = Array.from({ length: 100_000 }, () => ({}));
      const { code, text } = await trial.grpc.call('ModelInfer', { model_name: trial.subject.name, inputs });
      check(code !== 0, `it ends with ${text}`);
      await trial.grpcOutputs(rawGrpcRequest(trial.subject.name, trial.inputs()));
    },
  },
  {
    level: 'required',
    id: 'robustness.at-the-end',
    section: 'REST, Server Live and Inference',
    says: 'after all cases the server is live, ready and answers',
    run: async (trial) => {
      for (const path of ['/v2/health/live', '/v2/health/ready']) {
        const { status } = await trial.http.get(path);
        check(status === 200, `${path} is answered ${status}`);
      }
      await checkWell(trial);
    },
  },
];

function advice(name: string) {
  return { level: 'advice', id: `robustness.${name}` } as const;
}

function refusedBody(
  name: string,
  section: string,
  says: string,
  make: (trial: Trial) => string | Uint8Array,
): ConformCase {
  return {
    ...advice(name),
    section,
    says,
    run: async (trial) => {
      checkMistake(await trial.http.post(`${trial.path}/infer`, make(trial)));
      await checkWell(trial);
    },
  };
}

/** Runs `act` with what comes back on a connection that stays open; nothing in time counts as null. */
async function whileOpen(
  { http }: Trial,
  bytes: string,
  act: (answer: Promise<HttpAnswer | null>) => Promise<void>,
): Promise<void> {
  const connection = await http.open();
  connection.write(bytes);
  const answer = http.read(connection, 'POST', bytes.slice(0, 200)).catch((error: unknown) => {
    if (error instanceof NoAnswer) return null;
    throw error;
  });
  // It may fail while `act` is at something else.
  answer.catch(() => {});
  await act(answer).finally(() => connection.close());
}

/** A body in which one member is nested. */
function deepBody(trial: Trial, member: 'data' | 'id' | 'shape' | 'parameters' | 'inputs'): string {
  const deep = `${'['.repeat(DEPTH)}1${']'.repeat(DEPTH)}`;
  const mark = '"conform-deep"';
  const [first, ...others] = jsonInputs(trial.inputs());
  if (first === undefined) return skip('the model has no inputs');
  const inInput = member === 'data' || member === 'shape';
  const inputs =
    member === 'inputs'
      ? 'conform-deep'
      : [inInput ? { ...first, [member]: 'conform-deep' } : first, ...others];
  const outside = member === 'id' || member === 'parameters' ? { [member]: 'conform-deep' } : {};
  return JSON.stringify({ ...outside, inputs }).replace(mark, deep);
}

/** Fails unless the answer blames the client. */
function checkMistake({ status }: HttpAnswer): void {
  check(status >= 400 && status < 500, `the status is ${status}`);
}

function checkNoFailure({ status }: HttpAnswer): void {
  check(status < 500, `the status is ${status}`);
}

/** Fails unless a well-behaved client is answered. */
async function checkWell(trial: Trial): Promise<void> {
  outputsOfHttp(await trial.infer());
}
