import { describe, expect, it, test } from 'vitest';
import { buildExperiment, parseExperimentSource } from '../../src/config/build.js';
import { ON_DISK } from '../../src/config/files-on-disk.js';
import { parseExperiment } from '../../src/config/load.js';
import { environmentOverrides, RUNTIME_SETTINGS } from '../../src/config/runtime-settings.js';
import {
  LIVE_DEVICES,
  RUNTIME_PRECISIONS,
  type RuntimeSettings,
  STORAGE_BUFFER_CACHES,
} from '../../src/config/schema-runtime.js';
import { BUFFER_CACHES, PROVIDERS } from '../../src/live/device.js';
import { PRECISIONS } from '../../src/live/models/precision.js';
import { rowsOf } from '../rows.js';
import { rejection } from './failure.js';

const REST = 'models: { kind: fit, parameters: 1M }\nworkload: { kind: poisson, rate: 1/s, duration: 1s }\n';

/** The experiment of a file with this section, on a machine with these variables, with these flags. */
function load(section: string, environment: Record<string, string> = {}, overrides: string[] = []) {
  const source = parseExperimentSource(`${REST}runtime: ${section}\n`, 'exp.yaml');
  return buildExperiment(source, {
    overrides,
    environment: environmentOverrides(environment),
    host: ON_DISK,
  });
}

const runtimeOf = async (...args: Parameters<typeof load>): Promise<RuntimeSettings> =>
  (await load(...args)).runtime;

describe('precedence', () => {
  // What says each count of threads: the flag, the environment, the file.
  const flag = ['runtime.laneThreads=2'];
  const environment = { ESCAPEMENT_LANE_THREADS: '3' };
  const file = 'laneThreads: 4';

  it.each([
    ['the flag', `{ ${file} }`, environment, flag, 2],
    ['the environment', `{ ${file} }`, environment, [], 3],
    ['the file', `{ ${file} }`, {}, [], 4],
    ['the default', '{}', {}, [], 8],
    ['the flag, above an environment without a file', '{}', environment, flag, 2],
  ])('%s decides', async (_, section, variables, overrides, laneThreads) => {
    expect((await runtimeOf(section, variables, overrides)).laneThreads).toBe(laneThreads);
  });

  it('is recorded with the run: variables are overrides below the flags', async () => {
    const { source } = await load(
      '{}',
      { ESCAPEMENT_ARENA: 'false', ESCAPEMENT_INTRA_OP_THREADS: '3' },
      flag,
    );
    expect(source.overrides).toEqual(['runtime.intraOpThreads=3', 'runtime.arena=false', ...flag]);
    const again = await parseExperiment(source.text, 'exp.yaml', source.overrides);
    expect(again.runtime).toMatchObject({ intraOpThreads: 3, arena: false, laneThreads: 2 });
  });
});

describe('environment', () => {
  it('has a variable for every key, named after it', () => {
    const everything = Object.fromEntries(
      RUNTIME_SETTINGS.map((setting) => [setting.environment, setting.default]),
    );
    expect(environmentOverrides(everything).map(({ key }) => key)).toEqual(
      RUNTIME_SETTINGS.map(({ key }) => `runtime.${key}`),
    );
    expect(RUNTIME_SETTINGS.find(({ key }) => key === 'intraOpThreads')?.environment).toBe(
      'ESCAPEMENT_INTRA_OP_THREADS',
    );
    expect(
      environmentOverrides({
        ESCAPEMENT_ARENA: ' ',
        ESCAPEMENT_NONSENSE: '1',
        ESCAPEMENT_LANE_THREADS: ' 3 ',
      }),
    ).toEqual([{ variable: 'ESCAPEMENT_LANE_THREADS', key: 'runtime.laneThreads', value: '3' }]);
  });
});

/** The section, a variable, an override, and a pattern of the message. */
const MISTAKES = String.raw`
{ intraOpThreads: 0 } |  |  | ^exp\.yaml:3: runtime\.intraOpThreads: must be at least 1, found 0$
{} | ESCAPEMENT_INTRA_OP_THREADS=two |  | ^ESCAPEMENT_INTRA_OP_THREADS: must be a number, found two$
{} | ESCAPEMENT_ARENA=1 |  | ^ESCAPEMENT_ARENA: must be true or false, found 1$
{} | ESCAPEMENT_PRECISION=[a |  | ^ESCAPEMENT_PRECISION: the value is not valid YAML: Flow sequence must end with a \]$
{} |  | runtime.precision=fp8 | ^--set runtime\.precision=fp8: must be one of fp32, fp16
{} |  | runtime.memoryReserve=100% | ^--set .*: must be at most 99%, found 100%$
{ storagebufferCache: simple } |  |  | unknown key "storagebufferCache": did you mean "storageBufferCache"
12 | ESCAPEMENT_ARENA=false |  | ^ESCAPEMENT_ARENA: runtime is a plain value and has no keys$
`;

describe('mistakes', () => {
  it.each(rowsOf(MISTAKES))(
    'in %s with %s and %s are named',
    async (section = '', variable = '', override, message = '') => {
      const [name = '', value = ''] = variable.split(/=(.*)/);
      const variables = name === '' ? {} : { [name]: value };
      const overrides = override === '' ? [] : [override as string];
      const error = await rejection(load(section, variables, overrides));
      expect(error.message).toMatch(new RegExp(message));
      expect(error.code).toMatch(/^E_CONFIG_/);
    },
  );
});

test('what can be said is what live mode can do', () => {
  expect(STORAGE_BUFFER_CACHES).toEqual(BUFFER_CACHES);
  expect(RUNTIME_PRECISIONS).toEqual(PRECISIONS);
});

test('an experiment can name every device that live mode has', () => {
  expect([...LIVE_DEVICES].sort()).toEqual([...PROVIDERS, 'simulated'].sort());
});
