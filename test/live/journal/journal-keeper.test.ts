import { readdirSync, readFileSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { JournalKeeper } from '../../../src/live/journal/journal-keeper.js';
import { tempDir } from '../../cli/run-cli.js';

const MINUTE_MS = 60_000;

describe('JournalKeeper', () => {
  let dir: string;
  const reported: string[] = [];
  const events = {
    deleted: (path: string, bytes: number) => reported.push(`deleted ${path.slice(dir.length + 1)} ${bytes}`),
    outgrown: (path: string, bytes: number) =>
      reported.push(`outgrown ${path.slice(dir.length + 1)} ${bytes}`),
  };
  beforeEach(() => {
    dir = tempDir();
    reported.length = 0;
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  /** A journal of 100 bytes that was touched so many minutes ago. */
  function journal(name: string, minutesAgo: number): string {
    const path = join(dir, name);
    writeFileSync(path, 'x'.repeat(100));
    touch(path, minutesAgo);
    return path;
  }
  function touch(path: string, minutesAgo: number): void {
    const seconds = (Date.now() - minutesAgo * MINUTE_MS) / 1000;
    utimesSync(path, seconds, seconds);
  }
  function keep(path: string, mostBytes: number | null): JournalKeeper {
    return new JournalKeeper(join(dir, 'log'), path, mostBytes, events);
  }

  it('deletes the oldest first, and no more than it must', () => {
    for (const name of ['log', 'log.2', 'log.10']) journal(name, 60);
    keep(journal('log.11', 0), 250).close();
    expect(reported).toEqual(['deleted log 100', 'deleted log.2 100']);
    expect(readdirSync(dir).sort()).toEqual(['log.10', 'log.11']);
  });

  it('leaves those that another server writes, and goes on to the next', () => {
    journal('log', 4);
    journal('log.1', 6);
    keep(journal('log.2', 0), 100).close();
    expect(reported).toEqual(['deleted log.1 100']);
    expect(readdirSync(dir).sort()).toEqual(['log', 'log.2']);
  });

  it('touches its own, so that other servers leave it', () => {
    const own = journal('log', 0);
    const keeper = keep(own, null);
    touch(own, 60);
    vi.advanceTimersByTime(MINUTE_MS);
    expect(Date.now() - statSync(own).mtimeMs).toBeLessThan(MINUTE_MS);
    expect(readFileSync(own, 'utf8')).toBe('x'.repeat(100));
    keeper.close();
  });

  it('never deletes what is being written, and says once that it is too large', () => {
    const keeper = keep(journal('log', 60), 50);
    vi.advanceTimersByTime(5 * MINUTE_MS);
    expect(reported).toEqual(['outgrown log 100']);
    expect(readdirSync(dir)).toEqual(['log']);
    keeper.close();
  });

  it('keeps all without a limit, and minds neither devices nor names that are gone', () => {
    journal('log', 600);
    keep(journal('log.1', 0), null).close();
    keep('/dev/null', 0).close();
    keep(join(dir, 'gone'), 0).close();
    expect(reported).toEqual([]);
  });
});
