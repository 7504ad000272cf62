import { once } from 'node:events';
import { connect } from 'node:net';
import { expect, it, onTestFinished, vi } from 'vitest';
import { Pipeline } from '../../../src/live/frontend/pipeline.js';
import { echoModel, FakeService } from './fake-service.js';
import { openHttp } from './fixtures.js';

it('clients that hang up in the middle of a request, all at once, are seen to a few in each turn', async () => {
  const { port } = await openHttp(new FakeService([echoModel('mlp', true, [['x', 'FP32', [4]]])]));
  let [turn, inTurn, most, all] = [0, 0, 0, 0];
  let seen = -1;
  const ends = Pipeline.prototype.break;
  vi.spyOn(Pipeline.prototype, 'break').mockImplementation(function (this: Pipeline, refusal) {
    inTurn = seen === turn ? inTurn + 1 : 1;
    seen = turn;
    most = Math.max(most, inTurn);
    all++;
    ends.call(this, refusal);
  });
  const count = () => {
    turn++;
    next = setImmediate(count);
  };
  let next = setImmediate(count);
  onTestFinished(() => {
    clearImmediate(next);
    vi.restoreAllMocks();
  });
  const clients = Array.from({ length: 200 }, () => connect(port, '127.0.0.1'));
  await Promise.all(clients.map((client) => once(client, 'connect')));
  const answers = clients.map(async (client, i) => {
    let got = '';
    client.on('data', (bytes) => {
      got += bytes.toString();
    });
    client.write(
      i % 2 === 0
        ? 'POST /v2/mod'
        : 'POST /v2/models/mlp/infer HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n\r\n{',
    );
    await once(client, 'close');
    return got;
  });
  // A turn accepts one connection only: those that hung up before that would come one by one.
  const begun = turn;
  await expect.poll(() => turn).toBeGreaterThan(begun + 10 * clients.length);
  for (const client of clients) client.end();
  for (const answer of await Promise.all(answers)) expect(answer).toMatch(/^HTTP\/1\.1 400 /);
  expect(all).toBe(200);
  // Those of a turn and of the next one may fall between two counts.
  expect(most).toBeLessThanOrEqual(32);
});
