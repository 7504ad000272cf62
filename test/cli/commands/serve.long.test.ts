import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { makeModel } from '../../../src/live/models/make/make-model.js';
import { writeIn as writeFile } from '../../live/models/fixtures.js';
import { runCli, spawnCli, tempDir, words, writeIn } from '../run-cli.js';
import { get, infer, ServerProcess, tinyProfile, until } from '../server-process.js';

const ANY_PORTS = ['--http-port', '0', '--grpc-port', '0', '--metrics-port', '0'];
/** Slow machines must not miss windows. */
const PATIENT = ['--set', 'slo=10s'];

describe('escapement serve', () => {
  it('serves until SIGTERM, finishes what is under way and leaves a journal that replays to the same digest', async () => {
    const journal = join(tempDir(), 'run.journal');
    const server = new ServerProcess([
      'serve',
      ...['--device', `simulated:${tinyProfile()}`, '--gpus', '2', '--copies', '3', '--journal', journal],
      ...ANY_PORTS,
      ...PATIENT,
    ]);
    const { http, metrics } = await server.ready();
    expect((await get(http, '/v2/health/ready')).status).toBe(200);
    const statuses = await Promise.all(Array.from({ length: 30 }, (_, i) => infer(http, `tiny-${i % 3}`)));
    expect(statuses).toEqual(statuses.map(() => 200));
    expect((await get(metrics, '/metrics')).text).toMatch(/^escapement_/m);
    const status = await server.kill('SIGTERM');
    expect([status, server.stdout]).toEqual([0, '']);
    expect(server.log.at(-1)).toMatchObject({
      msg: 'closed',
      digest: expect.stringMatching(/^[0-9a-f]{16}$/),
    });
    const { digest } = server.log.at(-1) as unknown as { digest: string };
    const replay = await runCli(['replay', journal, '--json']);
    expect(replay.status).toBe(0);
    expect(JSON.parse(replay.stdout)).toMatchObject({ digest, requests: 30, truncated: false });
  });

  it('serves an experiment’s policy, and one model each of several profiles', async () => {
    const file = writeIn(tempDir(), 'tuned.yaml', 'slo: 3s\npolicy: { kind: fifo, maxDelay: 1ms }\n');
    const profiles = [tinyProfile(), 'experiments/profiles/resnet18_v2.v100.json'].join();
    const server = new ServerProcess(
      words`serve --device simulated:${profiles} --experiment ${file} ${ANY_PORTS}`,
    );
    const { http } = await server.ready();
    expect(server.log.find(({ msg }) => msg === 'ready')).toMatchObject({
      kinds: { simulated: 1 },
      policy: 'fifo',
      sloMs: 3000,
      models: 2,
    });
    expect((await get(http, '/v2/models/resnet18_v2')).status).toBe(200);
    expect(await infer(http, 'tiny')).toBe(200);
    expect(await server.kill('SIGTERM')).toBe(0);
  });

  it('says in one line what is wrong with its flags, and ends', async () => {
    const profile = `simulated:${tinyProfile()}`;
    const simulated = ['--device', profile, ...ANY_PORTS];
    const empty = writeIn(tempDir(), 'token', '\n');
    const squatter = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => squatter.once('listening', resolve));
    const { port } = squatter.address() as { port: number };
    const cases: [string[], number, RegExp][] = [
      [ANY_PORTS, 2, /E_USAGE: --repository FOLDER is required/],
      [
        ['--device', 'tpu', ...ANY_PORTS],
        2,
        /E_USAGE: --device tpu: must be one of cpu, .* or simulated:PROFILE/,
      ],
      [['--repository', '/nowhere', ...ANY_PORTS], 41, /E_MODEL_FILE: \/nowhere: no such folder/],
      [[...simulated, '--gpus', '0'], 2, /E_USAGE: --gpus 0: must be a whole number, at least 1/],
      [[...simulated, '--memory', '1KiB'], 2, /E_USAGE: --memory 1KiB: less than one page/],
      // Before models are looked at.
      [
        ['--repository', '/nowhere', '--http-port', String(port)],
        43,
        /E_LISTEN: --http-port \d+: cannot listen on 127\.0\.0\.1:\d+: .*; end what listens there, or choose another/,
      ],
      [
        ['--device', profile, '--grpc-port', '7', '--metrics-port', '7'],
        43,
        /E_LISTEN: --metrics-port 7: --grpc-port has the same port/,
      ],
      [[...simulated, '--journal-keep', 'much'], 2, /--journal-keep much: must be a size such as 64MiB/],
      [[...simulated, '--drain', 'soon'], 2, /E_USAGE: --drain soon: must be a duration such as 30s/],
      [
        [...simulated, '--max-body', '2MiB', '--max-inflight', '1MiB'],
        2,
        /--max-body 2MiB: larger than --max-i/,
      ],
      [
        [...simulated, '--max-client-requests', '255'],
        2,
        /--max-batch 256: larger than --max-client-requests \(255\)/,
      ],
      [[...simulated, '--cors', 'notanorigin'], 2, /E_USAGE: --cors notanorigin: must be an origin such as/],
      [[...simulated, '--cors', 'https://A.example:443'], 2, /443: write https:\/\/a\.example$/m],
      [[...simulated, '--load-model', 'm'], 2, /--load-model m: only --model-control explicit loads/],
      [
        [...simulated, '--poll-interval', '1s'],
        2,
        /--poll-interval has an effect only with --model-control poll/,
      ],
      [[...simulated, '--token-file', empty], 2, /E_USAGE: --token-file .*: the file is empty/],
      [[...simulated, '--tls-cert', empty], 2, /E_USAGE: missing option: --tls-cert needs --tls-key/],
    ];
    // These are found by a server that has started in part, which ends with its process.
    const started: typeof cases = [
      [[...simulated, '--tls-cert', empty, '--tls-key', empty], 44, /E_TLS: /],
      [[...simulated, '--journal', '/dev/null/x'], 22, /E_FILE_WRITE: .*\/dev\/null/],
    ];
    const check = async (run: typeof runCli, [args, status, message]: (typeof cases)[number]) => {
      const { stderr, status: actual } = await run(['serve', ...args]);
      expect(stderr, args.join(' ')).toMatch(message);
      // Besides the log of a server that was about to start.
      const lines = stderr.split('\n').filter((line) => !line.startsWith('{'));
      expect(lines, args.join(' ')).toHaveLength(2);
      expect(actual, args.join(' ')).toBe(status);
    };
    for (const one of cases) await check(runCli, one);
    await Promise.all(started.map((one) => check(spawnCli, one)));
    squatter.close();
  });
});

describe('a server that is to end', () => {
  it('says for --drain-notice that it is not ready, and goes on serving', async () => {
    const repository = tempDir();
    writeFile(repository, 'ranker/config.yaml', 'batchSizes: [1]\n');
    const { onnx } = makeModel('mlp', { input: 2, seed: 1, classes: 2 });
    writeFile(repository, 'ranker/1/model.onnx', onnx);
    const notice = ['--drain-notice', '5s'];
    const server = new ServerProcess(
      words`serve --repository ${repository} ${ANY_PORTS} ${PATIENT} ${notice}`,
    );
    const { http, metrics } = await server.ready();
    await until(async () => (await get(http, '/v2/health/ready')).status === 200);
    const ended = server.kill('SIGTERM');
    await until(async () => (await get(http, '/v2/health/ready')).status === 503);
    expect((await get(metrics, '/healthz')).status).toBe(503);
    expect((await get(http, '/v2/models/ranker/ready')).status).toBe(200);
    expect(await infer(http, 'ranker')).toBe(200);
    expect(await ended).toBe(0);
    const said = server.log.map(({ msg }) => msg);
    expect(said).toContain('SIGTERM: not ready; serving on for 5s');
    expect(said.at(-1)).toBe('closed');
  });
});

describe('a server with a request under way', () => {
  /** Serves one model whose INFER takes 100 s, and asks for one. */
  async function busy(...more: string[]) {
    const device = words`--device simulated:${tinyProfile()} --time-scale 50000`;
    const patient = words`--set slo=1h --set policy.kind=fifo`;
    const server = new ServerProcess(['serve', ...device, ...ANY_PORTS, ...patient, ...more]);
    const { http, metrics } = await server.ready();
    const answer = infer(http, 'tiny').catch(() => 'none');
    await until(async () =>
      (await get(metrics, '/metrics')).text.includes('escapement_unanswered_requests 1'),
    );
    return { server, answer };
  }

  it('answers 503 when that takes longer than --drain', async () => {
    const { server, answer } = await busy('--drain', '50ms');
    expect(await server.kill('SIGINT')).toBe(0);
    expect(await answer).toBe(503);
    expect(server.log.map(({ msg }) => msg).slice(-4)).toEqual([
      'SIGINT: no new requests',
      'draining: requests under way: 1; waits up to 50ms for them',
      'requests left without an answer: 1; they get an error',
      'closed',
    ]);
  });

  it('ends at once when the signal comes again a second later', async () => {
    const { server } = await busy();
    let status: number | null | undefined;
    const exited = server.kill('SIGTERM').then((ended) => {
      status = ended;
    });
    await until(() => {
      void server.kill('SIGTERM');
      return status !== undefined;
    });
    await exited;
    expect(status).toBe(130);
  });

  it('leaves a journal that can be replayed though it was killed', async () => {
    const journal = join(tempDir(), 'run.journal');
    const { server, answer } = await busy('--journal', journal);
    await until(() => readFileSync(journal, 'utf8').includes('\no '));
    await server.kill('SIGKILL');
    expect(await answer).toBe('none');
    const { status, stdout } = await runCli(['replay', journal, '--json']);
    expect([status, JSON.parse(stdout)]).toMatchObject([0, { requests: 1, truncated: true }]);
  });
});
