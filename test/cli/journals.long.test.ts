import { existsSync, readdirSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { runCli, tempDir, writeIn } from './run-cli.js';
import { infer, ServerProcess, tinyProfile, until } from './server-process.js';

const PORTS = ['--http-port', '0', '--grpc-port', 'off', '--metrics-port', 'off'];
/** Nothing is refused, however busy this machine is. */
const PATIENT = ['--set', 'slo=10s', '--set', 'policy.kind=fifo', '--set', 'admission=none'];

async function start(journal: string, ...more: string[]) {
  const device = ['--device', `simulated:${tinyProfile()}`];
  const server = new ServerProcess([
    ...['serve', ...device, '--journal', journal, ...PORTS, ...PATIENT, ...more],
  ]);
  const { http } = await server.ready();
  const serve = async (count: number) => {
    for (let i = 0; i < count; i++) expect(await infer(http, 'tiny')).toBe(200);
  };
  return { server, serve };
}

async function replay(path: string) {
  const { status, stdout, stderr } = await runCli(['replay', path, '--json']);
  expect([status, stderr]).toEqual([0, '']);
  return JSON.parse(stdout);
}

describe('a journal whose server is killed and started again', () => {
  it.each(['log', 'log.gz'])('is all there, as is the next (%s)', async (name) => {
    const dir = tempDir();
    const journal = join(dir, name);
    const crashed = await start(journal);
    await crashed.serve(5);
    await until(async () => existsSync(journal) && (await replay(journal)).outcomes.ok === 5);
    expect(await crashed.server.kill('SIGKILL')).toBeNull();

    const next = await start(journal);
    await next.serve(3);
    expect(await next.server.kill('SIGTERM')).toBe(0);

    const second = join(dir, name.replace('log', 'log.1'));
    expect(readdirSync(dir).sort()).toEqual(
      [journal, second].map((path) => path.slice(dir.length + 1)).sort(),
    );
    expect(await replay(journal)).toMatchObject({
      ...{ truncated: true, recordedDigest: null, requests: 5, unanswered: 0 },
    });
    const { digest, recordedDigest, ...whole } = await replay(second);
    expect(whole).toMatchObject({ truncated: false, requests: 3 });
    expect(digest).toBe(recordedDigest);

    const text = await runCli(['replay', journal, '--late', '--request', '4']);
    expect(text.status).toBe(0);
    expect(text.stdout).toMatch(/^recorded +none: the journal is incomplete, /m);
    expect(text.stdout).toContain('every request was answered within its SLO');
    expect(text.stdout).toContain('\nrequest 4 for tiny, ');
  });
});

it('a start that fails leaves no journal behind', async () => {
  const dir = tempDir();
  const journal = join(dir, 'log');
  const device = ['--device', `simulated:${tinyProfile()}`, '--model-control', 'explicit'];
  const failing = new ServerProcess([
    ...['serve', ...device, '--load-model', 'none-such', '--journal', journal, ...PORTS],
  ]);
  await expect(failing.ready()).rejects.toThrow('none-such');
  expect(readdirSync(dir)).toEqual([]);
});

it('--journal-keep deletes old journals, and the log says which', async () => {
  const dir = tempDir();
  const journal = join(dir, 'log');
  for (const name of ['log', 'log.1', 'log.2']) {
    const anHourAgo = Date.now() / 1000 - 3600;
    utimesSync(writeIn(dir, name, 'x'.repeat(100_000)), anHourAgo, anHourAgo);
  }
  const { server } = await start(journal, '--journal-keep', '150kB');
  expect(await server.kill('SIGTERM')).toBe(0);
  expect(readdirSync(dir).sort()).toEqual(['log.2', 'log.3']);
  const deleted = server.log.filter(({ msg }) => msg.startsWith('deleted'));
  expect(deleted).toMatchObject([
    { journal, bytes: 100_000 },
    { journal: `${journal}.1`, bytes: 100_000 },
  ]);
  expect((await runCli(['replay', journal])).status).toBe(20);
});
