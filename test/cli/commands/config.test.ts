import { afterEach, describe, expect, it } from 'vitest';
import { runCli, spawnCli, tempDir, words, writeIn } from '../run-cli.js';
import { tinyProfile } from '../server-process.js';

const FILE = 'slo: 50ms\nruntime:\n  intraOpThreads: 1\n  arena: false\n';

/** Sets variables of the processes that a test starts. */
function setVariables(variables: Record<string, string>): void {
  Object.assign(process.env, variables);
  set.push(...Object.keys(variables));
}

const set: string[] = [];
afterEach(() => {
  for (const variable of set.splice(0)) delete process.env[variable];
});

it.each(['serve', 'controller', 'config'])(
  '%s --help names all that a server takes from an experiment',
  async (command) => {
    const { stderr } = await runCli(['config', '--set', 'cluster.gpus=3']);
    const keys = /a server takes ([^:]+):/.exec(stderr)?.[1].split(', ') ?? [];
    expect(keys).toEqual(expect.arrayContaining(['classes', 'tenants']));
    const { stdout } = await runCli([command, '--help']);
    const text = stdout.replace(/\s+/g, ' ').match(/--experiment .*?\bapply\b/)?.[0] ?? '';
    for (const key of keys) expect(text).toMatch(new RegExp(`\\b${key}\\b`));
  },
);

describe('escapement config', () => {
  it('prints every setting and where it comes from, and what has no effect', async () => {
    const file = writeIn(tempDir(), 'tuned.yaml', FILE);
    setVariables({ ESCAPEMENT_MEMORY_RESERVE: '20%', ESCAPEMENT_ARENAS: 'true' });
    const args = ['config', '--experiment', file, '--set', 'runtime.laneThreads=2'];
    const { status, stdout, stderr } = await runCli(args);
    expect(status).toBe(0);
    const rows = stdout.split('\n').map((line) => line.split(/ {2,}/));
    expect(rows[0]).toEqual(['setting', 'value', 'from']);
    expect(rows).toContainEqual(['runtime.laneThreads', '2', '--set runtime.laneThreads=2']);
    expect(rows).toContainEqual(['runtime.memoryReserve', '20%', 'ESCAPEMENT_MEMORY_RESERVE']);
    expect(rows).toContainEqual(['runtime.arena', 'false', `${file}:4`]);
    expect(rows).toContainEqual(['runtime.precision', 'fp32', 'default']);
    expect(rows).toContainEqual(['slo', '50ms', `${file}:1`]);
    expect(stdout).not.toContain('warning');
    expect(stderr).toMatch(/^warning: ESCAPEMENT_ARENAS is not an environment variable of [^\n]+\n$/);
  });

  it('lists classes and tenants', async () => {
    const senders =
      'classes: [{ name: visitor }, { name: customer, weight: 5, share: 20%, priority: [1, 8] }]\n';
    const tenants = 'tenants: { list: [{ name: acme, rate: 10/s }, { name: rest, share: 0.5 }] }\n';
    const file = writeIn(tempDir(), 'senders.yaml', senders + tenants);
    const { status, stdout } = await runCli(words`config --experiment ${file} --set tenants.header=x-who`);
    expect(status).toBe(0);
    const rows = stdout
      .trim()
      .split('\n')
      .map((line) => line.split(/ {2,}/));
    expect(rows.slice(-5)).toEqual([
      ['classes.0', '{"name":"visitor"}', `${file}:1`],
      ['classes.1', '{"name":"customer","weight":5,"share":"20%","priority":[1,8]}', `${file}:1`],
      ['tenants.header', 'x-who', '--set tenants.header=x-who'],
      ['tenants.list.0', '{"name":"acme","rate":"10/s"}', `${file}:2`],
      ['tenants.list.1', '{"name":"rest","share":0.5}', `${file}:2`],
    ]);
  });
});

describe('settings of a live command', () => {
  const simulated = ['--device', `simulated:${tinyProfile()}`];

  it('are warned of on stderr where they have no effect', async () => {
    const env = { ESCAPEMENT_ARENAS: 'true' };
    const flags = ['--memory', '1TiB', '--journal', '/dev/null/x', '--http-port', '0', '--grpc-port', 'off'];
    const { stderr } = await spawnCli(['serve', ...simulated, ...flags, '--metrics-port', 'off'], { env });
    expect(stderr).toMatch(
      /"ESCAPEMENT_ARENAS is not an environment variable of .*: did you mean ESCAPEMENT_ARENA\?"/,
    );
  });

  it.each([
    [['config'], 12, /E_CONFIG_VALUE: ESCAPEMENT_LANE_THREADS: must be at least 1, found 0/],
    [['serve', ...simulated], 12, /E_CONFIG_VALUE: ESCAPEMENT_LANE_THREADS: must be at least 1/],
    [['run', 'experiments/live/two-models.yaml'], 12, /E_CONFIG_VALUE: ESCAPEMENT_LANE_THREADS: /],
    [['worker', ...simulated, '--set', 'slo=1s'], 11, /E_CONFIG_KEY: --set slo=1s: only runtime/],
    [
      ['serve', ...simulated, '--set', 'cluster.gpus=1'],
      11,
      /E_CONFIG_KEY: --set cluster\.gpus=1: a server takes/,
    ],
    [
      ['controller', '--worker', 'localhost:1', '--set', 'runtime.arena=false'],
      2,
      /E_USAGE: --set runtime\.arena=false: a controller runs no models/,
    ],
    [
      ['worker', '--memory', '900TiB', '--set', 'runtime.laneThreads=1'],
      2,
      /E_USAGE: --memory 921600GiB: .* keeps 50% free/,
    ],
  ])('%j is refused in one line', async (args, status, message) => {
    setVariables({ ESCAPEMENT_LANE_THREADS: '0' });
    const run = await runCli(args);
    expect(run.stderr).toMatch(message);
    expect(run.stderr.trimEnd().split('\n')).toHaveLength(1);
    expect(run.status).toBe(status);
  });
});
