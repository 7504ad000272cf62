import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { gpuChecks } from '../../../../src/tools/doctor/gpu/gpu-checks.js';
import { firstLine, nvidiaSmi, type Run } from '../../../../src/tools/doctor/gpu/nvidia-smi.js';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'escapement-nvidia-smi-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('running nvidia-smi', () => {
  it('gives what it prints, and the arguments to it as they are', async () => {
    const run = script('printf "%s\\n" "$@"');
    expect(await run(['--query-gpu=index', '$(id)'])).toEqual({
      kind: 'ok',
      stdout: '--query-gpu=index\n$(id)\n',
    });
  });

  it('says that there is none', async () => {
    expect(await nvidiaSmi({ command: join(folder, 'no-such-program') })([])).toEqual({ kind: 'missing' });
  });

  it('says that it may not be run', async () => {
    const path = join(folder, 'unfit');
    writeFileSync(path, 'not a program', { mode: 0o644 });
    expect(await nvidiaSmi({ command: path })([])).toMatchObject({ kind: 'failed', status: null });
  });

  it('gives the exit status and the first line of the complaint, from whichever stream', async () => {
    const onStderr = script('echo; echo "Failed to initialize NVML" >&2; exit 18');
    expect(await onStderr([])).toEqual({ kind: 'failed', status: 18, message: 'Failed to initialize NVML' });
    const onStdout = script('echo "NVIDIA-SMI has failed"; echo "Make sure"; exit 9');
    expect(await onStdout([])).toEqual({ kind: 'failed', status: 9, message: 'NVIDIA-SMI has failed' });
  });

  it('takes an answer about boards with a corrupt infoROM as an answer', async () => {
    expect(await script('echo 0; exit 14')([])).toEqual({ kind: 'ok', stdout: '0\n' });
  });

  it('stops one that prints without end', async () => {
    expect(await script('yes')([])).toMatchObject({ kind: 'failed', status: null });
  });
});

describe('an nvidia-smi that hangs', () => {
  it('is killed with its children although it ignores signals', async () => {
    const pids = join(folder, 'pids');
    const hanging = `trap '' TERM INT HUP; sleep 600 & echo $$ $! > '${pids}'; wait`;
    const checks = await gpuChecks({ run: script(hanging, 2_000), cacheBytes: null, cudaWanted: false });
    expect(checks.map(({ id, status, found }) => [id, status, found])).toEqual([
      ['gpu.driver', 'failed', 'nvidia-smi did not answer within 2 s'],
    ]);
    const started = readFileSync(pids, 'utf8').trim().split(' ').map(Number);
    expect(started).toHaveLength(2);
    while (started.some(isRunning)) await sleep(10);
  });

  it('is given up although a child of it holds on to the output from another process group', async () => {
    const pid = join(folder, 'pid');
    const run = script(`set -m; sleep 30 & echo $! > '${pid}'; exit 0`, 1_000);
    try {
      expect(await run([])).toEqual({ kind: 'timed-out', limitMs: 1_000 });
    } finally {
      process.kill(Number(readFileSync(pid, 'utf8')), 'SIGKILL');
    }
  });
});

describe('firstLine', () => {
  it('is short and safe to show', () => {
    expect(firstLine('\r\n  \n a\tb\u001b[31m \nc')).toBe('a?b?[31m');
    expect(firstLine('x'.repeat(500))).toBe(`${'x'.repeat(160)}…`);
    expect(firstLine('')).toBe('');
  });
});

let scripts = 0;

/** A program of these shell commands in place of nvidia-smi. */
function script(commands: string, limitMs = 20_000): Run {
  const path = join(folder, `nvidia-smi-${scripts++}`);
  writeFileSync(path, `#!/bin/sh\n${commands}\n`);
  chmodSync(path, 0o755);
  return nvidiaSmi({ command: path, limitMs });
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    // Dead, but not yet buried by the process that inherited it.
    return !/^\d+ \(.*\) Z/.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return false;
  }
}
