import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { windowsCsv, withStagedFolder } from '../../src/cli/run-folder.js';
import { tempDir, writeIn } from './run-cli.js';

/** A folder with the results of an earlier run, and a file of the user. */
function earlier(): string {
  const dir = tempDir();
  writeIn(dir, 'run.json', 'old');
  writeIn(dir, 'report.html', 'old');
  writeIn(dir, 'notes.txt', 'mine');
  return dir;
}

const NAMES = ['run.json', 'report.html'];

describe('a staged folder', () => {
  it('replaces all results of an earlier run, and nothing else', async () => {
    const dir = earlier();
    const value = await withStagedFolder(dir, NAMES, async (stage) => {
      writeFileSync(join(stage, 'run.json'), 'new');
      expect(readFileSync(join(dir, 'run.json'), 'utf8')).toBe('old');
      return 7;
    });
    expect(value).toBe(7);
    expect(readFileSync(join(dir, 'run.json'), 'utf8')).toBe('new');
    expect(readdirSync(dir).sort()).toEqual(['notes.txt', 'run.json']);
  });

  it('leaves everything as it was when the work fails', async () => {
    const dir = earlier();
    const work = withStagedFolder(dir, NAMES, async (stage) => {
      writeFileSync(join(stage, 'run.json'), 'half');
      throw new Error('out of memory');
    });
    await expect(work).rejects.toThrow('out of memory');
    expect(readFileSync(join(dir, 'run.json'), 'utf8')).toBe('old');
    expect(readdirSync(dir).sort()).toEqual(['notes.txt', 'report.html', 'run.json']);
  });

  it('goes, with those made for it, when the work fails', async () => {
    const dir = tempDir();
    const work = withStagedFolder(join(dir, 'a', 'b'), NAMES, async () => {
      throw new Error('out of memory');
    });
    await expect(work).rejects.toThrow('out of memory');
    expect(readdirSync(dir)).toEqual([]);
  });

  it('starts empty although a run before it was killed', async () => {
    const dir = tempDir();
    await withStagedFolder(dir, NAMES, async (stage) => {
      writeIn(stage, 'left', '');
      await withStagedFolder(dir, NAMES, async (again) => expect(readdirSync(again)).toEqual([]));
    }).catch(() => {});
    expect(readdirSync(dir)).toEqual([]);
  });
});

it('windows.csv has a line for each, with what happened to GPUs in it', () => {
  const gpus = { execUtilization: 0.5, weightsUtilization: 0 };
  const rates = { offeredRps: 1, goodputRps: 1, failedRps: 0 };
  const latencies = { p99Ms: 4, executedP50Ms: 3.5, executedP99Ms: 4 };
  const none = { p99Ms: null, executedP50Ms: null, executedP99Ms: null };
  const windows = [
    { beginSeconds: 0, endSeconds: 1, ...rates, ...latencies, ...gpus, loads: 2 },
    { beginSeconds: 1, endSeconds: 2, ...rates, ...none, ...gpus, loads: 0 },
  ];
  const events = [
    { atSeconds: 0.5, kind: 'clock', text: 'clock of GPU 0 × 0.8' },
    { atSeconds: 0.7, kind: 'scaled', text: '3 × a: why' },
    { atSeconds: 1.5, kind: 'GPU lost', text: 'GPU 1 was lost: gone' },
  ] as const;
  expect(windowsCsv({ windows, events }).split('\n')).toEqual([
    'begin_seconds,end_seconds,offered_rps,goodput_rps,failed_rps,p99_ms,executed_p50_ms,executed_p99_ms,exec_utilization,weights_utilization,loads,events',
    '0,1,1,1,0,4,3.5,4,0.5,0,2,clock of GPU 0 × 0.8; 3 × a',
    '1,2,1,1,0,,,,0.5,0,0,GPU 1 was lost',
    '',
  ]);
});
