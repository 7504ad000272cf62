import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { openSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { ROOT, runCli } from '../cli/run-cli.js';
import { get, infer, ServerProcess, tinyProfile, until } from '../cli/server-process.js';
import { fillDisk, smallDisk } from './small-disk.js';

const DISK_BYTES = 1 << 20;
/** What a file system gives out at a time. */
const PAGE_BYTES = 4096;

/** Nothing is refused, however busy this machine is. */
const PATIENT = ['--set', 'slo=10s', '--set', 'policy.kind=fifo', '--set', 'admission=none'];

describe('next to a full disk', () => {
  it('a server goes on without its journal', async ({ skip }) => {
    const disk =
      smallDisk(DISK_BYTES) ?? skip('no disk of its own can be mounted here, which takes rights and Linux');
    fillDisk(disk, DISK_BYTES - 2 * PAGE_BYTES);
    const name = 'run.journal.gz';
    const journal = join(disk, name);
    const server = new ServerProcess([
      ...['serve', '--device', `simulated:${tinyProfile()}`, '--journal', journal, ...PATIENT],
      ...['--http-port', '0', '--grpc-port', 'off', '--metrics-port', '0'],
    ]);
    const { http, metrics } = await server.ready();
    const failed = async () => {
      const { text } = await get(metrics, '/metrics');
      return /^escapement_journal_failed (\d)$/m.exec(text)?.[1];
    };
    expect(await failed()).toBe('0');

    const serve = async () => expect(await infer(http, 'tiny')).toBe(200);
    await until(async () => {
      await serve();
      return (await failed()) === '1';
    });
    for (let i = 0; i < 20; i++) await serve();

    const said = (what: string) => server.log.filter(({ msg }) => msg.includes(what));
    expect(await server.kill('SIGTERM')).toBe(0);
    expect(said('the journal ends there, and the server goes on without it')).toEqual([
      expect.objectContaining({
        level: 'error',
        code: 'E_FILE_WRITE',
        msg: expect.stringContaining('ENOSPC'),
      }),
    ]);
    expect(readdirSync(disk).sort()).toEqual(['filler', name]);
    const { status, stdout } = await runCli(['replay', journal, '--json']);
    expect(status).toBe(0);
    const replayed = JSON.parse(stdout);
    expect(replayed).toMatchObject({ truncated: true, recordedDigest: null });
    expect(replayed.requests).toBeGreaterThan(0);
  });

  it('a process goes on without its log, which goes on when there is room again', async ({ skip }) => {
    const disk =
      smallDisk(DISK_BYTES) ?? skip('no disk of its own can be mounted here, which takes rights and Linux');
    const log = join(disk, 'serve.log');
    // A line in the log, and an answer, for each byte that it gets.
    const script = `
      import { createLog } from './dist/live/observe/telemetry/log.js';
      const log = createLog('info', 'controller');
      process.stdin.on('data', (bytes) => {
        for (const _ of bytes) log.info('x'.repeat(100));
        process.stdout.write(bytes);
      });`;
    const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
      ...{ cwd: ROOT, stdio: ['pipe', 'pipe', openSync(log, 'a')] },
    });
    const ended = once(child, 'exit');
    onTestFinished(() => void child.kill('SIGKILL'));
    const say = async () => {
      child.stdin!.write('.');
      await once(child.stdout!, 'data');
    };
    const fillPage = () =>
      until(async () => {
        await say();
        return statSync(log).size % PAGE_BYTES === 0;
      });
    const freeAgain = fillDisk(disk, DISK_BYTES - PAGE_BYTES);
    await fillPage();
    for (let i = 0; i < 20; i++) await say();
    const full = statSync(log).size;
    freeAgain();
    await until(() => statSync(log).size > full);
    await say();
    // Whole lines, as if nothing had been.
    const lines = readFileSync(log, 'utf8').trimEnd().split('\n');
    expect(lines.filter((line) => !/^\{.*\}$/.test(line))).toEqual([]);

    fillDisk(disk, DISK_BYTES - Math.ceil(statSync(log).size / PAGE_BYTES) * PAGE_BYTES);
    await fillPage();
    child.stdin!.end();
    expect(await ended).toEqual([0, null]);
  });
});
