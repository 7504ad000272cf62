import { describe, expect, it } from 'vitest';
import type { ClusterStatus } from '../../../src/live/observe/status/cluster-status.js';
import { runCli } from '../run-cli.js';
import { infer, ServerProcess, tinyProfile } from '../server-process.js';

describe('escapement top', () => {
  it('prints the state of a controller where there is no terminal', async () => {
    const server = new ServerProcess([
      ...['serve', '--device', `simulated:${tinyProfile()}`, '--gpus', '2', '--copies', '3'],
      ...['--http-port', '0', '--grpc-port', 'off', '--metrics-port', '0', '--set', 'slo=10s'],
    ]);
    const { http, metrics } = await server.ready();
    expect(await infer(http, 'tiny-1')).toBe(200);
    const url = `127.0.0.1:${metrics}`;
    const { status, stdout, stderr } = await runCli(['top', url, '--once']);
    expect([status, stderr]).toEqual([0, '']);
    const lines = stdout.trimEnd().split('\n');
    expect(lines[0]).toMatch(/^ready: escapement on .*, policy escapement, /);
    expect(stdout).toContain('ok 1, late 0');
    expect(lines.filter((line) => /^ +[01] {2}simulated /.test(line))).toHaveLength(2);
    expect(lines.filter((line) => /^tiny-[012] /.test(line))).toHaveLength(3);
    expect(stdout).not.toContain('\u001b');

    const json = await runCli(['top', `http://${url}`, '--json']);
    const shown = JSON.parse(json.stdout) as ClusterStatus;
    expect([shown.version, shown.totals.ok, shown.gpus.length]).toEqual([5, 1, 2]);

    const wrong = await runCli(['top', `http://127.0.0.1:${http}`, '--once']);
    expect([wrong.status, wrong.stdout]).toEqual([48, '']);
    expect(wrong.stderr).toMatch(
      /^escapement: E_SERVER: .* answers 404 to GET \/status: .*--metrics-port.*\n$/,
    );
  });

  it('says in one line that no server answers', async () => {
    const { status, stdout, stderr } = await runCli(['top', 'http://127.0.0.1:1']);
    expect([status, stdout]).toEqual([48, '']);
    expect(stderr).toMatch(/^escapement: E_SERVER: http:\/\/127\.0\.0\.1:1 cannot be reached \(.+\): .+\n$/);
  });

  it.each([
    [['top', 'ftp://somewhere'], 'must be a URL such as http://127.0.0.1:8002'],
    [['top', '8002'], 'must be a URL such as http://127.0.0.1:8002'],
    [
      ['profile', 'measure', 'models', '--buckets-from', '8002'],
      'must be a URL such as http://127.0.0.1:8002',
    ],
    [['top', '--interval', 'often'], 'must be a duration such as 30s'],
    [['top', '--interval', '1ms'], 'at least 100ms'],
  ])('refuses %j', async (args, message) => {
    const { status, stderr } = await runCli(args);
    expect([status, stderr.split('\n').length]).toEqual([2, 2]);
    expect(stderr).toContain(message);
  });
});
