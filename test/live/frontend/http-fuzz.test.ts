import { connect } from 'node:net';
import { expect, it } from 'vitest';
import { echoModel, FakeService } from './fake-service.js';
import { openHttp, tensor } from './fixtures.js';

const MLP = echoModel('mlp', true, [['x', 'FP32', [4]]]);
const BODY = JSON.stringify({ inputs: [tensor('x', 'FP32', [1, 4], [1, 2, 3, 4])] });
const POST = 'POST /v2/models/mlp/infer HTTP/1.1\r\nhost: x\r\n';
const VALID = [
  `${POST}content-length: ${BODY.length}\r\n\r\n${BODY}`,
  `${POST}transfer-encoding: chunked\r\n\r\n9\r\n${BODY.slice(0, 9)}\r\n${(BODY.length - 9).toString(16)}\r\n${BODY.slice(9)}\r\n0\r\n\r\n`,
  `${POST}expect: 100-continue\r\ncontent-length: ${BODY.length}\r\n\r\n${BODY}`,
  'GET /v2/health/live HTTP/1.1\r\nhost: x\r\n\r\n',
  'OPTIONS /v2 HTTP/1.1\r\nhost: x\r\n\r\n',
];
const TOKENS = [
  '\r\n',
  '\n',
  '\r',
  '\0',
  ' ',
  ':',
  '0',
  ',',
  'ffffffff',
  'chunked',
  'HTTP/1.0',
  'host: y\r\n',
];
const CASES = 300;

/** Numbers that are the same each time. */
function numbers(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

/** A few valid requests, some bytes of which were dropped, doubled or replaced. */
function mutated(next: (below: number) => number): string {
  let bytes = Array.from({ length: 1 + next(3) }, () => VALID[next(VALID.length)]).join('');
  for (let changes = 1 + next(4); changes > 0; changes--) {
    const at = next(bytes.length);
    const kept = bytes.slice(at + [0, 0, 1, 5][next(4)]);
    const added = [TOKENS[next(TOKENS.length)], String.fromCharCode(next(256)), bytes.slice(at, at + 9), ''];
    bytes = bytes.slice(0, at) + added[next(added.length)] + kept;
  }
  return bytes;
}

/** Sends bytes, then the end; resolves with all that came back when the server has closed. */
function exchange(port: number, bytes: string): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true }, () =>
      socket.end(bytes, 'latin1'),
    );
    let heard = '';
    socket.on('data', (more) => {
      heard += more.toString('latin1');
    });
    socket.on('end', () => socket.destroy());
    socket.on('error', () => {});
    socket.on('close', () => resolve(heard));
  });
}

it('requests with bytes changed are answered or closed, and others hear nothing of them', async () => {
  const { port, http } = await openHttp(new FakeService([MLP]));
  const next = numbers(20);
  let isOver = false;
  const victim = (async () => {
    let answered = 0;
    for (; !isOver || answered === 0; answered++) {
      const { status, json } = await http.post('/v2/models/mlp/infer', BODY);
      expect([status, json.outputs[0].data]).toEqual([200, [1, 2, 3, 4]]);
    }
    return answered;
  })();
  const statuses = new Set<string>();
  for (let from = 0; from < CASES; from += 60) {
    const sent = Array.from({ length: 60 }, () => mutated(next));
    const heard = await Promise.all(sent.map((bytes) => exchange(port, bytes)));
    for (const [i, text] of heard.entries()) {
      // Nothing but whole answers, whatever was asked.
      const rest = text.replaceAll(
        /HTTP\/1\.1 (\d{3}) [^\r]*\r\n(?:[^\r]+\r\n)*\r\n(?:\{[^\r]*\})?/g,
        (_, status) => {
          statuses.add(status);
          return '';
        },
      );
      expect([sent[i], rest]).toEqual([sent[i], '']);
    }
  }
  isOver = true;
  expect(await victim).toBeGreaterThan(0);
  // Enough of both.
  expect([...statuses]).toEqual(expect.arrayContaining(['200', '204', '400']));
});
