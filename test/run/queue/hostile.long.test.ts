import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { Queue, Worker } from 'bullmq';
import type { Redis } from 'ioredis';
import { describe, expect, it, onTestFinished } from 'vitest';
import { packageVersion } from '../../../src/cli/version.js';
import { PublishedFiles } from '../../../src/run/queue/files.js';
import { BULLMQ, KEYS, queueName } from '../../../src/run/queue/messages.js';
import { runCli, runOk, SMALL_EXPERIMENT, tempDir, writeIn } from '../../cli/run-cli.js';
import { until } from '../../cli/server-process.js';
import { NAME } from '../../hostile-name.js';
import { noRedis, RedisServer } from './redis-server.js';
import { readyWorker } from './worker.js';

const QUEUE = queueName(packageVersion());
const SWEEP = '00000000-0000-4000-8000-000000000000';
const BLOB = { sha256: 'a'.repeat(64), bytes: 1 };
const TRACE = 'arrival_ns,model_id,slo_ns\n';
/** Modules of the tests write this file when they run. */
const MARK = join(tempDir(), 'mark');
const CODE = `import { writeFileSync } from 'node:fs'; writeFileSync(${JSON.stringify(MARK)}, ''); export default [];`;
const ARRIVALS = SMALL_EXPERIMENT.replace(/workload: .*/, 'workload: { kind: arrivals, path: day.csv.gz }');

interface Sent {
  /** The experiment. */
  readonly text?: string;
  /** Files by the path that the experiment gives them. */
  readonly files?: Readonly<Record<string, string | Buffer>>;
  /** Fields of the order in place of the right ones. */
  readonly fields?: object;
}

/** Orders that are none: the worker says why. */
const MALFORMED: readonly (readonly [string, Sent, RegExp])[] = [
  ['a field that no order has', { fields: { run: '/bin/sh' } }, /Unrecognized key: "run"/],
  [
    'a prototype',
    { fields: JSON.parse('{"__proto__":{"polluted":true},"constructor":{"prototype":{}}}') },
    /Unrecognized key/,
  ],
  ['a digest that is a path', { fields: { text: { ...BLOB, sha256: '../../etc/passwd' } } }, /text: sha256/],
  [
    'files that are too large together',
    { fields: { files: Array(9).fill({ path: 'a', blob: { ...BLOB, bytes: 2 ** 27 } }) } },
    /its files have more than 1024 MiB/,
  ],
  [
    'a file that is to be imported',
    { fields: { files: [{ path: 'own.mjs', kind: 'module', blob: BLOB }] } },
    /files: 0: Unrecognized key: "kind"/,
  ],
  [
    'overrides beyond size',
    { fields: { overrides: Array(17).fill('x'.repeat(1 << 20)) } },
    /its overrides have more than 16 MiB/,
  ],
  [
    'a name with escapes as a field',
    { fields: { '\u001b]0;owned\u0007': 1 } },
    /Unrecognized key: ".u001b]0;owned.u0007"$/m,
  ],
];

/** Orders of which the sweep that sent them hears why nothing came of them. */
const REFUSED: readonly (readonly [string, Sent, RegExp])[] = [
  [
    'code as a data file that the experiment names as its plugin',
    { text: `${SMALL_EXPERIMENT}plugins: [own.mjs]\n`, files: { 'own.mjs': CODE } },
    /^E_PLUGIN: own.mjs: is not a plugin of this machine/,
  ],
  [
    'code as a data file, and the digest of a plugin that the worker lacks',
    {
      text: `${SMALL_EXPERIMENT}plugins: [own.mjs]\n`,
      files: { 'own.mjs': CODE },
      fields: { plugins: [{ path: 'own.mjs', sha256: BLOB.sha256 }] },
    },
    /^E_PLUGIN: own.mjs: a worker does not have this plugin/,
  ],
  [
    'the path of a module of the worker',
    { text: `${SMALL_EXPERIMENT}plugins: [${JSON.stringify(writeIn(tempDir(), 'own.mjs', CODE))}]\n` },
    /^E_PLUGIN: .*is not a plugin of this machine/,
  ],
  [
    'the path of a file of the worker',
    {
      text: SMALL_EXPERIMENT.replace(
        /workload: .*/,
        'workload: { kind: arrivals, path: ../../../etc/passwd }',
      ),
    },
    /^E_FILE_MISSING: .*was not sent/,
  ],
  [
    'a prototype in the experiment',
    { text: `${SMALL_EXPERIMENT}__proto__: { polluted: true }\n` },
    /^E_CONFIG_KEY: /,
  ],
  [
    'aliases that multiply',
    {
      text: `a: &a [${Array(50).fill('x')}]\n${'bcdefg'
        .split('')
        .map((key, i) => `${key}: &${key} [${Array(50).fill(`*${'abcdef'[i]}`)}]\n`)
        .join('')}`,
    },
    /^E_CONFIG_SYNTAX: .*aliases/,
  ],
  [
    'a packed trace of one line of 64 MiB',
    {
      text: ARRIVALS,
      files: { 'day.csv.gz': gzipSync(Buffer.concat([Buffer.from(TRACE), Buffer.alloc(1 << 26, 0x30)])) },
    },
    /^E_TRACE_HEADER: .*16 MiB/,
  ],
  ['GPUs beyond number', { fields: { overrides: ['cluster.gpus=1000000000000'] } }, /^E_CONFIG_VALUE: /],
  [
    'a text that grows when its files are shown',
    { text: ARRIVALS, fields: { name: '$&$&' } },
    /^E_FILE_MISSING: /,
  ],
];

describe.skipIf(noRedis !== '')(`a worker${noRedis === '' ? '' : ` (${noRedis})`}`, () => {
  it('imports nothing, refuses each forged order with a reason, and then serves an honest sweep', async () => {
    const server = await RedisServer.start();
    const worker = await readyWorker(server);
    const client = server.connect();
    const published = new PublishedFiles(client);
    const jobs = new Queue(QUEUE, { ...BULLMQ, connection: client });
    onTestFinished(() => jobs.close());
    await client.set(KEYS.sweep(SWEEP), '');

    const send = async (jobId: string, { text = SMALL_EXPERIMENT, files = {}, fields }: Sent) => {
      const sent = Object.entries(files).map(async ([path, content]) => ({
        path,
        blob: await published.addFile(writeIn(tempDir(), 'file', content)),
      }));
      const order = {
        ...{
          sweep: SWEEP,
          job: 'runCell',
          name: 'x',
          file: 'run.yaml',
          overrides: [],
          metrics: [],
        },
        ...{ text: await published.addText(text), files: await Promise.all(sent), plugins: [], ...fields },
      };
      await jobs.add('cell', order, { jobId });
    };
    const answers = async () =>
      new Map(
        (await jobs.getCompleted()).map(({ id, returnvalue: { outcome } }) => [
          id,
          `${outcome.code}: ${outcome.message}`,
        ]),
      );

    for (const [name, sent] of [...MALFORMED, ...REFUSED]) await send(name, sent);
    await until(async () => worker.hasEnded || (await answers()).size === REFUSED.length);
    expect(worker.hasEnded).toBe(false);
    const found = await answers();
    for (const [name, , reason] of REFUSED) {
      expect.soft(found.get(name), name).toMatch(reason);
      expect.soft(found.get(name)!.length, name).toBeLessThan(1000);
      // Where files lie on the machine of the worker is its own affair.
      expect.soft(found.get(name), name).not.toContain('escapement-files-');
    }
    for (const [name, , reason] of MALFORMED) expect.soft(worker.stderr, name).toMatch(reason);
    expect(worker.stderr.split('a job in the queue is refused').length - 1).toBe(MALFORMED.length);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: those are what must not come through.
    expect(worker.stderr).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/);
    expect(existsSync(MARK)).toBe(false);

    const dir = tempDir();
    const file = writeIn(dir, 'run.yaml', SMALL_EXPERIMENT);
    const sweep = (out: string, ...flags: string[]) =>
      runOk(['sweep', file, '--seeds', '1,2', '--out', join(dir, out), ...flags]);
    await sweep('queue', '--queue', server.url);
    await sweep('alone', '--threads', '1');
    const results = (out: string) => readFileSync(join(dir, out, 'results.json'), 'utf8');
    expect(results('queue')).toBe(results('alone'));
    expect(await worker.kill('SIGINT')).toBe(0);
  });
});

const ANSWER = { worker: { name: 'forger', threads: 1 }, ranMs: 1 };
const done = (json: string) => ({ ...ANSWER, outcome: { status: 'done', json } });
const failed = (code: string, message: string) => ({
  ...ANSWER,
  outcome: { status: 'failed', code, message },
});

/** What is no result of a cell; `good` is one. */
const FORGED: readonly (readonly [string, (good: string) => unknown])[] = [
  ['nothing', () => null],
  ['a field that no answer has', (good) => ({ ...done(good), path: '../results.json' })],
  ['a worker whose name has escapes', (good) => ({ ...done(good), worker: { name: NAME, threads: 1 } })],
  ['a message without end', () => failed('E_TRACE_VALUE', 'x'.repeat(100_001))],
  ['lists without end', () => done('['.repeat(1 << 20))],
  ['a bound', () => done('{"offeredRps":1,"fluidRps":1,"windowLimitedRps":1,"bestRps":1}')],
  ['a text in place of a number', (good) => done(good.replace(/"sloMs":\d+/, '"sloMs":"1"'))],
  ['a field that no result has', (good) => done(good.replace('{', '{"path":"../results.json",'))],
  ['a prototype', (good) => done(good.replace('{', '{"__proto__":{"polluted":true},'))],
  ['17 MiB', (good) => done(`${good}${' '.repeat(17 << 20)}`)],
];

describe.skipIf(noRedis !== '')(`a sweep${noRedis === '' ? '' : ` (${noRedis})`}`, () => {
  it('takes no forged result, and has the bytes of an honest one', async () => {
    const { server, client, sweep, read } = await folder();
    const seeds = ['--seeds', `1:${FORGED.length}:1`];
    await runOk(sweep('alone', ...seeds, '--threads', '1'));
    const good = read(`alone/cells/${readdirSync(join(read.dir, 'alone/cells'))[0]}`);
    const running = runCli(sweep('queue', ...seeds, '--queue', server.url));
    const jobs = new Queue(QUEUE, { ...BULLMQ, connection: client });
    onTestFinished(() => jobs.close());
    await until(async () => (await jobs.getWaitingCount()) === FORGED.length);
    // Events tell of results, too.
    const events = `escapement:${QUEUE}:events`;
    for (const [i, value] of ['{}', 'not json', JSON.stringify(done('{}'))].entries()) {
      const { id } = (await jobs.getWaiting())[i]!;
      await client.xadd(events, '*', 'event', 'completed', 'jobId', id!, 'returnvalue', value);
    }
    const left = FORGED.map(([, forge]) => forge(good));
    await forger(client, left);
    expect(left).toEqual([]);
    await readyWorker(server);
    expect((await running).status).toBe(0);
    expect(read('queue/results.json')).toBe(read('alone/results.json'));
  });

  it('gives up on a cell that is forged three times, in words', async () => {
    const { server, client, sweep, read } = await folder();
    const running = runCli(sweep('queue', '--seeds', '1,2', '--queue', server.url));
    await forger(client, Array(6).fill({}));
    expect((await running).status).toBe(4);
    expect(read('queue/results.json')).toContain('what workers handed in is no result, 3 times');
  });
});

/** A sweep of a small experiment on a server of its own. */
async function folder() {
  const server = await RedisServer.start();
  const dir = tempDir();
  const file = writeIn(dir, 'run.yaml', SMALL_EXPERIMENT);
  const sweep = (out: string, ...flags: string[]) => ['sweep', file, '--out', join(dir, out), ...flags];
  const read = Object.assign((name: string) => readFileSync(join(dir, name), 'utf8'), { dir });
  return { server, client: server.connect(), sweep, read };
}

/** A worker that answers job by job with what is left, and then takes no more. */
async function forger(client: Redis, left: unknown[]): Promise<void> {
  await new Promise<void>((resolve) => {
    const worker: Worker = new Worker(
      QUEUE,
      async () => {
        const value = left.shift();
        if (left.length === 0) void worker.close().then(resolve);
        return value;
      },
      { ...BULLMQ, connection: client },
    );
  });
}
