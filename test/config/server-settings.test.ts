import { describe, expect, it } from 'vitest';
import { settingWarnings } from '../../src/config/effective-settings.js';
import { environmentOverrides } from '../../src/config/runtime-settings.js';
import { readRuntime, readServerSettings, type SettingsSources } from '../../src/config/server-settings.js';
import { tempDir, writeIn } from '../cli/run-cli.js';
import { expected, rowsOf } from '../rows.js';
import { rejection } from './failure.js';

const FILE = `slo: 50ms
policy: { kind: clockwork, scheduleAhead: 5ms }
runtime:
  arena: false
  intraOpThreads: 2
cluster: { gpus: 900 }
`;

const WITHOUT_GPUS = FILE.replace(/^cluster:.*\n/m, '');

function sources({
  text,
  environment = {},
  overrides = [],
}: {
  text?: string;
  environment?: Record<string, string>;
  overrides?: string[];
}): SettingsSources {
  return {
    file: text === undefined ? null : writeIn(tempDir(), 'tuned.yaml', text),
    environment: environmentOverrides(environment),
    overrides,
  };
}

/** An override, the code and the message. */
const MISTAKES = String.raw`
cluster.gpus=3 | E_CONFIG_KEY | /^--set cluster\.gpus=3: a server takes slo, plugins, policy, admission, padding, classes, scaler, tenants, runtime/
policy={ kind: clockwork, scheduleAhead: 1ms } | E_CONFIG_VALUE | /^policy: clockwork would send nothing, .*: use more than 1ms, or auto$/
polcy.kind=edf | E_CONFIG_KEY | /^--set polcy\.kind=edf: unknown key "polcy": did you mean "policy"\?/
foo=1 | E_CONFIG_KEY | --set foo=1: unknown key "foo": known: slo, plugins, policy, admission, padding, classes, scaler, tenants, runtime, pipelines
=3 | E_USAGE | /^--set =3: write key=value/
gpus | E_USAGE | /^--set gpus: write key=value/
`;

describe('what a server takes of an experiment', () => {
  it('is a scaler with the kinds of GPUs that it scales', async () => {
    const gpus =
      '[{ kind: t4, count: 2, min: 1, max: 6, start: 30s, minLifetime: 10m }, { kind: a, min: 0, max: 2, price: 3/h, speed: 2 }]';
    const text = `${WITHOUT_GPUS}cluster: { gpus: ${gpus} }\nscaler: { kind: reactive, interval: 5s }\n`;
    const { settings } = await readServerSettings(sources({ text }));
    expect(settings.scaling).toMatchObject({
      intervalNs: 5e9,
      kinds: [
        { name: 't4', min: 1, max: 6, startNs: 30e9, minLifetimeNs: 600e9, pricePerHour: null },
        { name: 'a', min: 0, max: 2, pricePerHour: 3 },
      ],
    });
    expect((await readServerSettings(sources({ text: FILE }))).settings.scaling).toBeNull();
  });

  it.each(rowsOf(MISTAKES))('%s is not, and that is said', async (override = '', code, message = '') => {
    const error = await rejection(readServerSettings(sources({ overrides: [override] })));
    expect([error.code, error.message]).toEqual([code, expected(message)]);
  });

  it.each([
    ['sloo: 7s\nmodels: {}\n', 1, 'sloo: unknown key "sloo": did you mean "slo"?'],
    ['slo: 7s\nclases: [{ name: gold }]\n', 2, 'clases: unknown key "clases": did you mean "classes"?'],
  ])('is nothing of a file with a key that no experiment has: %j', async (text, line, what) => {
    for (const readSettings of [readServerSettings, readRuntime]) {
      const error = await rejection(readSettings(sources({ text })));
      expect(error.code).toBe('E_CONFIG_KEY');
      expect(error.message).toMatch(new RegExp(`tuned\\.yaml:${line}`));
      expect(error.message).toContain(what);
    }
  });
});

describe('warnings', () => {
  it('say that a policy does not put shares first', async () => {
    const tenants = 'tenants={ list: [{ name: a }, { name: b }] }';
    expect(await warnings({}, [tenants, 'policy.kind=escapement'])).toEqual([]);
    expect(await warnings({}, [tenants, 'policy.kind=edf'])).toEqual([
      'policy edf: requests within a share do not come first; those above one may be refused under overload',
    ]);
  });

  const warnings = async (environment: Record<string, string>, overrides: string[] = [], cores = 4) =>
    settingWarnings(await readServerSettings(sources({ environment, overrides })), environment, cores);

  it.each([
    [{ ESCAPEMENT_ARENAS: 'false' }, [], /^ESCAPEMENT_ARENAS is not .* did you mean ESCAPEMENT_ARENA\?$/],
    [{ ESCAPEMENT_XYZZY: '1' }, [], /^ESCAPEMENT_XYZZY is not an environment variable of escapement$/],
    [
      {},
      ['runtime.intraOpThreads=5'],
      /^runtime\.intraOpThreads is 5, more than the 4 cores that this process may use/,
    ],
    [{}, ['runtime={ interOpThreads: 2, memoryPattern: true }'], /^runtime\.memoryPattern has no effect/],
  ] as const)('%j, %j', async (environment, overrides, warning) => {
    expect(await warnings(environment, [...overrides])).toEqual([expect.stringMatching(warning)]);
  });
});
