import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { Queue } from 'bullmq';
import { describe, expect, it, onTestFinished } from 'vitest';
import { packageVersion } from '../../../src/cli/version.js';
import { KEYS, ownKind, PREFIX, queueName } from '../../../src/run/queue/names.js';
import { PublishedFiles } from '../../../src/run/queue/published-files.js';
import { runOk, SMALL_EXPERIMENT, tempDir, writeIn } from '../../cli/run-cli.js';
import { until } from '../../cli/server-process.js';
import { noRedis, RedisServer } from './redis-server.js';
import { readyWorker } from './worker.js';

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
  ['a member of every object as its job', { fields: { job: 'constructor' } }, /job: Invalid option/],
  ['a digest that is a path', { fields: { text: { ...BLOB, sha256: '../../etc/passwd' } } }, /text: sha256/],
  ['a text that is too large', { fields: { text: { ...BLOB, bytes: 2 ** 40 } } }, /text: bytes: Too big/],
  [
    'files that are too large together',
    { fields: { files: Array(9).fill({ path: 'a', shown: 'a', blob: { ...BLOB, bytes: 2 ** 27 } }) } },
    /its files have more than 1024 MiB/,
  ],
  [
    'a file that is to be imported',
    { fields: { files: [{ path: 'own.mjs', shown: 'own.mjs', kind: 'module', blob: BLOB }] } },
    /files: 0: Unrecognized key: "kind"/,
  ],
  [
    'a plugin with its content',
    { fields: { plugins: [{ path: 'own.mjs', shown: 'own.mjs', sha256: BLOB.sha256, blob: BLOB }] } },
    /plugins: 0: Unrecognized key: "blob"/,
  ],
  ['a sweep that is a path', { fields: { sweep: '../results' } }, /sweep: Invalid UUID/],
  ['overrides beyond number', { fields: { overrides: Array(10_001).fill('slo=1ms') } }, /overrides: Too big/],
  [
    'overrides beyond size',
    { fields: { overrides: Array(17).fill('x'.repeat(1 << 20)) } },
    /its overrides have more than 16 MiB/,
  ],
  ['a percentile that is none', { fields: { percentiles: [1e9] } }, /percentiles: 0: Too big/],
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
    'code as a data file that an override names as a plugin',
    { files: { 'own.mjs': CODE }, fields: { overrides: ['plugins=own.mjs'] } },
    /^E_PLUGIN: own.mjs: is not a plugin of this machine/,
  ],
  [
    'code as a data file, and the digest of a plugin that the worker lacks',
    {
      text: `${SMALL_EXPERIMENT}plugins: [own.mjs]\n`,
      files: { 'own.mjs': CODE },
      fields: { plugins: [{ path: 'own.mjs', shown: 'own.mjs', sha256: BLOB.sha256 }] },
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
    'a model of the worker',
    {
      text: `models: { kind: onnx, path: /etc, name: a }\nworkload: { kind: poisson, rate: 1/s, duration: 1s }\n`,
    },
    /^E_FILE_MISSING: /,
  ],
  [
    'a model file as its own profile',
    {
      text: 'models: { kind: onnx, path: a.onnx, name: a }\nworkload: { kind: poisson, rate: 1/s, duration: 1s }\n',
      files: { 'a.onnx': '\u0008\u0009', 'profile.cpu.json': '\u0008\u0009' },
    },
    /^E_PROFILE: /,
  ],
  [
    'a prototype in the experiment',
    { text: `${SMALL_EXPERIMENT}__proto__: { polluted: true }\n` },
    /^E_CONFIG_KEY: /,
  ],
  ['a prototype in an override', { fields: { overrides: ['__proto__.polluted=1'] } }, /^E_USAGE: /],
  [
    'a constructor in an override',
    { fields: { overrides: ['constructor.prototype.polluted=1'] } },
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
  ['lists without end', { text: '['.repeat(1 << 20) }, /^E_CONFIG_SYNTAX: /],
  ['an experiment that is no text', { text: '\u0000\u001b[31m' }, /^E_CONFIG_/],
  [
    'a packed trace of one line of 64 MiB',
    {
      text: ARRIVALS,
      files: { 'day.csv.gz': gzipSync(Buffer.concat([Buffer.from(TRACE), Buffer.alloc(1 << 26, 0x30)])) },
    },
    /^E_TRACE_HEADER: .*16 MiB/,
  ],
  ['a packed trace that is none', { text: ARRIVALS, files: { 'day.csv.gz': CODE } }, /^E_FILE_TRUNCATED: /],
  [
    'a name with escapes in a trace',
    { text: ARRIVALS, files: { 'day.csv.gz': gzipSync(`${TRACE}1,\u001b[2J,1\n`) } },
    /^E_UNKNOWN_MODEL: day.csv.gz:2: /,
  ],
  [
    'models beyond number',
    { text: SMALL_EXPERIMENT.replace(/models: .*/, 'models: { kind: zoo, copies: 1000000000 }') },
    /^E_CONFIG_/,
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
    const jobs = new Queue(queueName(ownKind(packageVersion())), { connection: client, prefix: PREFIX });
    onTestFinished(() => jobs.close());
    await client.set(KEYS.alive(SWEEP), '1', 'PX', 600_000);

    const send = async (cell: number, { text = SMALL_EXPERIMENT, files = {}, fields }: Sent) => {
      const sent = Object.entries(files).map(async ([path, content]) => ({
        ...{ path, shown: path },
        blob: await published.addFile(writeIn(tempDir(), 'file', content)),
      }));
      await jobs.add('cell', {
        ...{
          sweep: SWEEP,
          cell,
          job: 'runCell',
          name: 'x',
          file: 'run.yaml',
          overrides: [],
          percentiles: [],
        },
        ...{ text: await published.addText(text), files: await Promise.all(sent), plugins: [], ...fields },
      });
    };
    const answers = async () =>
      new Map(
        (await client.lrange(KEYS.results(SWEEP), 0, -1)).map((text) => {
          const { cell, outcome } = JSON.parse(text);
          return [cell, `${outcome.code}: ${outcome.message}`];
        }),
      );

    for (const [, sent] of MALFORMED) await send(0, sent);
    for (const [i, [, sent]] of REFUSED.entries()) await send(i, sent);
    await until(async () => worker.hasEnded || (await answers()).size === REFUSED.length);
    expect(worker.hasEnded).toBe(false);
    const found = await answers();
    for (const [i, [name, , reason]] of REFUSED.entries()) {
      expect.soft(found.get(i), name).toMatch(reason);
      expect.soft(found.get(i)!.length, name).toBeLessThan(1000);
      // Where files lie on the machine of the worker is its own affair.
      expect.soft(found.get(i), name).not.toContain('escapement-files-');
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
