import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync } from 'node:fs';
import { builtinModules } from 'node:module';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ROOT, SMALL_EXPERIMENT, tempDir, writeIn } from './cli/run-cli.js';
import { until } from './cli/server-process.js';
import { isAlive, pidIn, readyLog, WORKER } from './cli/worker-process.js';

const VERSION: string = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')).version;
/** All of a checkout that a release is made of. */
const CHECKOUT = [
  'LICENSE',
  'README.md',
  'package.json',
  'tsconfig.json',
  'tsconfig.build.json',
  'src',
  'experiments',
  'notebooks',
  'traces',
];
/** npm did not reach its registry; a script that fails has a number here. */
const NO_REGISTRY = /^npm (?:error|ERR!) code (?:ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ENETUNREACH|ETIMEDOUT)/m;
const ONNXRUNTIME = join('node_modules', 'onnxruntime-node');

/** A checkout that nothing else runs from: tests compile into dist of this one. */
const checkout = tempDir();
let packed: ReturnType<typeof run>;

beforeAll(() => {
  for (const name of CHECKOUT) cpSync(join(ROOT, name), join(checkout, name), { recursive: true });
  symlinkSync(join(ROOT, 'node_modules'), join(checkout, 'node_modules'));
  // Compiles, too, as a release does.
  packed = run('npm', ['pack'], checkout);
}, 300_000);

describe('npx in a checkout', () => {
  it('runs what was compiled, and does not compile it again', async () => {
    const before = compiledMs();
    const child = npx(['--version']);
    let stdout = '';
    child.stdout?.on('data', (text) => {
      stdout += text;
    });
    expect(await once(child, 'close')).toEqual([0, null]);
    expect(stdout).toBe(`${VERSION}\n`);
    expect(compiledMs()).toBe(before);
  });

  it('takes a server with it when it is stopped', async () => {
    const child = npx(WORKER.split(' '));
    const log = await readyLog(child);
    child.kill('SIGTERM');
    // Only the server itself can say so.
    await until(() => log().includes('"msg":"closed"'));
    await until(() => !isAlive(pidIn(log())));
    expect(log()).not.toContain('"level":"error"');
  });
});

describe('the packed package, installed into an empty project', () => {
  const dir = tempDir();
  const shipped = join('node_modules', 'escapement', 'experiments');
  let failure = '';

  beforeAll(() => {
    expect(packed.status, packed.stderr).toBe(0);
    writeIn(dir, 'package.json', '{ "private": true }');
    writeIn(dir, 'small.yaml', SMALL_EXPERIMENT);
    const tarball = join(checkout, `escapement-${VERSION}.tgz`);
    const installed = run('npm', ['install', '--prefer-offline', '--no-audit', '--no-fund', tarball], dir);
    failure = installed.status === 0 ? '' : installed.stderr;
  }, 300_000);

  afterAll(() => rmSync(dir, { recursive: true, force: true }));

  it('needs nothing but the registry, and brings no onnxruntime', ({ skip }) => {
    skip(NO_REGISTRY.test(failure), 'npm does not reach its registry');
    expect(failure).toBe('');
    expect(existsSync(join(dir, ONNXRUNTIME))).toBe(false);
  });

  it('imports nothing but its dependencies', ({ skip }) => {
    skip(NO_REGISTRY.test(failure), 'it is not installed');
    const installed = join(dir, 'node_modules', 'escapement');
    const { dependencies, peerDependencies } = JSON.parse(
      readFileSync(join(installed, 'package.json'), 'utf8'),
    );
    const known = new Set([...Object.keys({ ...dependencies, ...peerDependencies }), ...builtinModules]);
    const imported = new Set<string>();
    for (const file of readdirSync(join(installed, 'dist'), { recursive: true, encoding: 'utf8' })) {
      // Of what the bundles hold, the source of each file tells.
      if (!/\.c?js$/.test(file) || /^(?:chunks|play.ui)\W/.test(file)) continue;
      const text = readFileSync(join(installed, 'dist', file), 'utf8');
      for (const [, name] of text.matchAll(
        /(?:\bfrom |\bimport\(?|\brequire\() ?['"]((?:@[\w-]+\/)?[a-z][\w-]*)/g,
      ))
        imported.add(name as string);
    }
    expect(imported).toContain('zod');
    expect([...imported].filter((name) => name !== 'node' && !known.has(name))).toEqual([]);
  });

  it.for([
    '--help',
    `simulate ${shipped}/isolation.yaml --out run`,
    'report run',
    'sweep small.yaml --vary slo=25ms,50ms --out sweep',
    'trace generate --functions 5 --minutes 2 trace.csv',
    'model make mlp --repository models --name ranker --input 4',
    // In real time, on a simulated device.
    'run small.yaml --mode live --journal run.journal',
    'replay run.journal',
  ])('runs without it: %s', (line, { skip }) => {
    skip(NO_REGISTRY.test(failure), 'it is not installed');
    expectSuccess(line.split(' '));
  });

  it.for(['typescript/bin/tsc6', '@typescript/native/bin/tsc'])(
    'has types with which the example of the README compiles, libraries checked as well: %s',
    (compiler, { skip }) => {
      skip(NO_REGISTRY.test(failure), 'it is not installed');
      const example = /## Use it as a library\s+```ts\n([\s\S]*?)```/.exec(
        readFileSync(join(ROOT, 'README.md'), 'utf8'),
      );
      writeIn(
        dir,
        'example.mts',
        `${example?.[1]}\nimport * as load from 'escapement/load';\nload.openTarget;\n`,
      );
      const tsc = join(ROOT, 'node_modules', compiler);
      const flags = ['--strict', '--noEmit', '--module', 'nodenext', '--target', 'es2023'];
      const { status, stdout } = run(process.execPath, [tsc, ...flags, 'example.mts'], dir);
      expect([status, stdout]).toEqual([0, '']);
    },
  );

  it('says how to get it where models are to run', ({ skip }) => {
    skip(NO_REGISTRY.test(failure), 'it is not installed');
    const anyPorts = ['--http-port', '0', '--grpc-port', '0', '--metrics-port', '0'];
    const { status, stderr } = escapement(['serve', '--repository', 'models', ...anyPorts]);
    expect(stderr).toMatch(/^escapement: E_DEVICE: onnxruntime-node, .* is not installed: run npm install /m);
    expect(status).toBe(40);
  });

  it('runs models once it is there', ({ skip }) => {
    skip(NO_REGISTRY.test(failure), 'it is not installed');
    symlinkSync(join(ROOT, ONNXRUNTIME), join(dir, ONNXRUNTIME));
    expectSuccess(['profile', 'measure', 'models', '--runs', '1']);
    writeIn(
      dir,
      'live.yaml',
      'models: { kind: onnx, path: models/ranker }\nworkload: { kind: poisson, rate: 40/s, duration: 500ms }\n',
    );
    expectSuccess(['run', 'live.yaml', '--mode', 'live']);
  });

  function expectSuccess(args: readonly string[]): void {
    const { status, stderr } = escapement(args);
    expect(status, stderr).toBe(0);
  }

  function escapement(args: readonly string[]) {
    return run(process.execPath, [join(dir, 'node_modules', '.bin', 'escapement'), ...args], dir);
  }
});

/** Not as part of the npm that may run these tests: it leaves its settings in the environment. */
function run(command: string, args: readonly string[], cwd: string) {
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^npm_/i.test(name)));
  return spawnSync(command, args, { cwd, env, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
}

/** The real npx, without the network and with a cache of its own. */
function npx(args: readonly string[]): ChildProcess {
  return spawn('npx', ['escapement', ...args], {
    cwd: checkout,
    env: { ...process.env, npm_config_cache: tempDir(), npm_config_offline: 'true' },
    stdio: 'pipe',
  });
}

/** When the command was compiled. */
function compiledMs(): number {
  return statSync(join(checkout, 'dist', 'cli', 'main.js')).mtimeMs;
}
