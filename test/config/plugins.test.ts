import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createPolicyOf } from '../../src/config/create-policy.js';
import { ON_DISK } from '../../src/config/files-on-disk.js';
import { describeKeys } from '../../src/config/keys.js';
import { loadExperiment, parseExperiment } from '../../src/config/load.js';
import { loadPluginFiles } from '../../src/config/plugins.js';
import type { Policy } from '../../src/core/policy.js';
import { POLICIES } from '../../src/policies/registry.js';
import { simulate } from '../../src/run/simulated.js';
import { cellKey } from '../../src/run/sweep/cell-key.js';
import { tempDir } from '../cli/run-cli.js';
import { rejection } from './failure.js';

const OPTIONS = "{ patience: { type: 'duration', default: 5000000, min: 0, describe: 'how long it waits' } }";
/** A policy that refuses everything; `more` replaces methods. */
const entry = (kind: string, more = '') => `{
  kind: '${kind}', summary: 'refuses everything', options: ${OPTIONS},
  create: (context, options) => ({
    name: '${kind}', admit: () => -Infinity, timedOut() {}, finished() {}, weightsLost() {}, weightsFound() {},
    lanesChanged() {}, schedule() {}, nextWakeNs: () => Infinity, queued: () => 0, ${more}
  }),
}`;
const EXPERIMENT = `
cluster: { gpus: 1 }
models: { kind: zoo, varieties: 1, copies: 1 }
workload: { kind: poisson, rate: 100/s, duration: 1s }
admission: none
`;

/** A folder with an experiment and a module; the path of the experiment. */
function folderWith(module: string, experiment = EXPERIMENT, name = 'mine.mjs'): string {
  const dir = tempDir();
  writeFileSync(join(dir, name), module);
  writeFileSync(join(dir, 'run.yaml'), experiment);
  return join(dir, 'run.yaml');
}

/** Code and message of what the promise is rejected with. */
async function failureOf(promise: Promise<unknown>): Promise<string> {
  const { code, message } = await rejection(promise);
  return `${code} ${message}`;
}

const PLUGIN = 'plugins=[mine.mjs]';

describe('a policy of a plugin', () => {
  it('comes in addition to the plugins of the file, one of several that a module exports', async () => {
    const path = folderWith(
      `export const policies = [${entry('one')}, ${entry('two')}]`,
      `${EXPERIMENT}plugins: [./mine.mjs]\n`,
    );
    writeFileSync(path.replace('run.yaml', 'other.cjs'), `module.exports = ${entry('three')}`);
    for (const kind of ['one', 'two', 'three']) {
      const { policy } = await loadExperiment(path, ['plugins=[other.cjs]', `policy.kind=${kind}`]);
      expect(policy.kind).toBe(kind);
    }
  });

  it('is checked like a built-in one: kinds, keys and values', async () => {
    const path = folderWith(`export default ${entry('mine')}`);
    const load = (...overrides: string[]) => failureOf(loadExperiment(path, [PLUGIN, ...overrides]));
    expect(await load('policy.kind=mien')).toMatch(/E_CONFIG_VALUE.*symphony, mine.*did you mean "mine"/);
    expect(await load('policy.kind=mine', 'policy.patience=2')).toMatch(/E_CONFIG_UNIT/);
    expect(await load('policy.kind=mine', 'policy.fairness=0')).toMatch(/mine has no fairness, a key of esc/);
    expect(await load('policy.kind=edf', 'policy.patience=2ms')).toMatch(
      /edf has no patience, a key of mine/,
    );
    expect(await failureOf(loadExperiment(path, ['policy.kind=mine']))).toMatch(/must be one of/);
  });

  it('appears in the key reference', async () => {
    const path = folderWith(`export default ${entry('mine')}`).replace('run.yaml', 'mine.mjs');
    const keys = describeKeys(await loadPluginFiles([path], ON_DISK));
    expect(keys.find(({ key, kind }) => kind === 'mine' && key === 'policy.patience')).toMatchObject({
      description: 'how long it waits',
      default: '5ms',
    });
  });

  it('makes its cells of a sweep those of the module as it is, and leaves the others alone', async () => {
    const path = folderWith(`export default ${entry('mine')}`);
    const keyOf = async (kind: string) =>
      cellKey(await loadExperiment(path, [PLUGIN, `policy.kind=${kind}`]), '1', []);
    const before = [await keyOf('mine'), await keyOf('edf')];
    writeFileSync(path.replace('run.yaml', 'mine.mjs'), `export default ${entry('mine')} // changed`);
    expect(await keyOf('mine')).not.toBe(before[0]);
    expect(await keyOf('edf')).toBe(before[1]);
  });

  it('can be passed to the library', async () => {
    const [edf] = POLICIES.filter(({ kind }) => kind === 'edf');
    const own = { ...edf!, kind: 'mine' };
    const ofEdf = await simulate(await parseExperiment(EXPERIMENT, 'run.yaml', ['policy.kind=edf']));
    const { summary } = await simulate(
      await parseExperiment(EXPERIMENT, 'run.yaml', ['policy.kind=mine'], [own]),
    );
    expect(summary).toMatchObject({ policy: 'mine', digest: ofEdf.summary.digest });
    expect(await failureOf(parseExperiment(EXPERIMENT, 'run.yaml', [], [edf!]))).toMatch(
      /called edf is built in/,
    );
  });
});

describe('a module that is no plugin is refused: it', () => {
  it.each([
    ['is not there', null, /^E_FILE_MISSING.*mine\.mjs: no such file/],
    ['exports nothing', 'export const a = 1', /^E_PLUGIN.*exports no policy/],
    [
      'lacks a field',
      "export default { kind: 'mine', summary: '', options: {} }",
      /policies\.0\.create: must be a/,
    ],
    [
      'has the name of a built-in policy',
      `export default ${entry('edf')}`,
      /called edf is built in: choose another/,
    ],
    ['throws', "\nthrow new TypeError('boom')", /cannot be loaded: TypeError: boom \(line 2\)/],
    ['imports what is not there', "import 'no-such-package'", /Cannot find package 'no-such-package'/],
  ])('%s', async (_, module, message) => {
    const path = folderWith(module ?? '', EXPERIMENT, module === null ? 'other.mjs' : 'mine.mjs');
    expect(await failureOf(loadExperiment(path, [PLUGIN]))).toMatch(message);
  });
});

describe('a policy of a plugin that fails ends the run with its name: it', () => {
  const failing = async (more: string): Promise<string> => {
    const path = folderWith(`export default ${entry('mine', more)}`);
    return failureOf(
      loadExperiment(path, [PLUGIN, 'policy.kind=mine']).then((experiment) => simulate(experiment)),
    );
  };

  it.each([
    [
      'throws in a decision',
      'schedule() { null.x; }',
      /mine\.mjs: schedule of policy mine failed: TypeError.*line/,
    ],
    [
      'breaks a rule',
      'schedule(now) { context.dispatch.unload(0, 0, now); }',
      /schedule.*UNLOAD goes to a GPU where/,
    ],
    [
      'wants to be called now, for ever',
      'nextWakeNs: (now) => now',
      /nextWakeNs.*instead of a time after now/,
    ],
    ['returns no time', 'admit: () => undefined', /admit of policy mine returned undefined/],
    ['never answers', 'admit: () => Infinity', /left \d+ requests without an answer/],
  ])('%s', async (_, more, message) => {
    const failure = await failing(more);
    expect(failure).toMatch(/^E_PLUGIN/);
    expect(failure).toMatch(message);
  });

  it('throws when it is made', async () => {
    const plugin = {
      file: 'mine.mjs',
      digest: '',
      policies: [{ kind: 'mine', summary: '', options: {}, create }],
    };
    function create(): Policy {
      throw new Error('boom');
    }
    expect(() => createPolicyOf({ kind: 'mine', options: {}, plugin })({} as never)).toThrow(/create.*boom/);
  });
});
