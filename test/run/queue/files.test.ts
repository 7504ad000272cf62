import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync, truncateSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { FetchedFiles, PublishedFiles } from '../../../src/run/queue/files.js';
import type { Blob } from '../../../src/run/queue/messages.js';
import { tempDir, writeIn } from '../../cli/run-cli.js';
import { noRedis, RedisServer } from './redis-server.js';

/** Short, for files that never come. */
const PATIENCE_MS = 300;

describe.skipIf(noRedis !== '')(`files in a queue${noRedis === '' ? '' : ` (${noRedis})`}`, () => {
  it.each([0, 1, (9 << 20) + 5])('of %i bytes come as they were sent', async (bytes) => {
    const { client, published, fetch } = await open();
    const content = randomBytes(bytes);
    const blob = await published.addFile(writeIn(tempDir(), 'file', content));
    expect(await client.pttl(`escapement:file:${blob.sha256}`)).toBeGreaterThan(0);
    expect((await fetch(blob)).equals(content)).toBe(true);
    await published.remove();
    expect(await client.dbsize()).toBe(0);
  });

  it('are sent again when the server has lost them', async () => {
    const { client, published, fetch } = await open(60_000);
    const content = randomBytes(5 << 20);
    const blob = await published.addFile(writeIn(tempDir(), 'file', content));
    await client.del(`escapement:file:${blob.sha256}`);
    const waiting = fetch(blob);
    await published.renew();
    expect((await waiting).equals(content)).toBe(true);
  });

  it.each([
    ['other content', (key: string) => ['set', key, 'y'.repeat(100)]],
    ['a part of it', (key: string) => ['set', key, 'x'.repeat(99)]],
    ['more than it', (key: string) => ['set', key, 'x'.repeat(5 << 20)]],
    ['something that is no text', (key: string) => ['hset', key, 'a', 'b']],
  ])('%s is never taken for the file, and the right one is once it is back', async (_, command) => {
    const { client, published, fetch } = await open(60_000);
    const impatient = await open(PATIENCE_MS, client);
    const blob = await published.addText('x'.repeat(100));
    const key = `escapement:file:${blob.sha256}`;
    const spoil = async () => {
      await client.del(key);
      const [name = '', ...args] = command(key);
      await client.call(name, ...args);
    };
    await spoil();
    await expect(impatient.fetch(blob)).rejects.toMatchObject({ code: 'E_QUEUE' });
    await spoil();
    const waiting = fetch(blob);
    await client.del(key);
    await published.renew();
    expect((await waiting).toString()).toBe('x'.repeat(100));
  });

  it('are removed with the folder that they were fetched to', async () => {
    const { published, files, fetch } = await open();
    await fetch(await published.addText('text'));
    const folders = () => readdirSync(tmpdir()).filter((name) => name.startsWith('escapement-files-'));
    const before = folders().length;
    await files.close();
    expect(folders()).toHaveLength(before - 1);
  });
});

describe('a file that no queue takes', () => {
  const published = new PublishedFiles(undefined as never);

  it('has more than 256 MiB', async () => {
    const path = writeIn(tempDir(), 'large', '');
    truncateSync(path, (256 << 20) + 1);
    await expect(published.addFile(path)).rejects.toMatchObject({
      code: 'E_QUEUE',
      message: expect.stringContaining('share the sweep with --shard'),
    });
  });

  it('is a pipe', async () => {
    const path = join(tempDir(), 'pipe');
    execFileSync('mkfifo', [path]);
    await expect(published.addFile(path)).rejects.toMatchObject({
      code: 'E_QUEUE',
      message: expect.stringContaining('copy it'),
    });
  });
});

async function open(patienceMs = PATIENCE_MS, shared?: ReturnType<RedisServer['connect']>) {
  const client = shared ?? (await RedisServer.start()).connect();
  const files = await FetchedFiles.open(client, patienceMs);
  onTestFinished(() => files.close());
  const fetch = (blob: Blob) =>
    files.with([{ blob, suffix: '' }], async ([path]) => readFileSync(path as string));
  return { client, files, fetch, published: new PublishedFiles(client) };
}
