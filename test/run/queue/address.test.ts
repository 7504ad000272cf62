import { describe, expect, it } from 'vitest';
import { GivenFile } from '../../../src/cli/options.js';
import { queueAddress } from '../../../src/run/queue/connection.js';
import { tempDir, writeIn } from '../../cli/run-cli.js';

describe('the address of a queue', () => {
  it.each([
    ['redis://host', { host: 'host', port: 6379, db: 0 }, 'redis://host:6379'],
    ['redis://host:1/', { host: 'host', port: 1, db: 0 }, 'redis://host:1'],
    ['redis://[::1]:7000/3', { host: '::1', port: 7000, db: 3 }, 'redis://[::1]:7000/3'],
    [
      'redis://me:p%40ss@host',
      { host: 'host', port: 6379, db: 0, username: 'me', password: 'p@ss' },
      'redis://host:6379',
    ],
    ['redis://:word@host', { host: 'host', port: 6379, db: 0, password: 'word' }, 'redis://host:6379'],
    ['rediss://host', { host: 'host', port: 6379, db: 0, tls: {} }, 'rediss://host:6379'],
  ])('%s', (text, options, shown) => {
    expect(queueAddress(text)).toEqual({ options, shown });
  });

  it('takes another password, from a file, that is not empty', () => {
    const file = writeIn(tempDir(), 'password', 'hidden\n');
    const read = (path: string) => new GivenFile(path, '--queue-password-file').secret;
    const password = read(file);
    expect(queueAddress('redis://me:other@host', { password }).options).toMatchObject({
      username: 'me',
      password: 'hidden',
    });
    expect(() => read(writeIn(tempDir(), 'empty', '\n'))).toThrow(
      /^--queue-password-file .*: the file is empty$/,
    );
  });

  it.each([
    'host:6379',
    'http://me:secret@host',
    'redis://',
    'redis://me:secret@host/name',
    'redis://me:secret@host:99999',
    'redis://me:secret%@host',
    'redis://me:secret@host?tls=1',
  ])('%s is refused in words that show no password', (text) => {
    let message = '';
    try {
      queueAddress(text);
    } catch (error) {
      message = (error as Error).message;
    }
    expect(message).toContain('write redis://HOST:PORT');
    expect(message).not.toContain('secret');
  });

  it('takes an authority for TLS only', () => {
    const ca = Buffer.from('pem');
    expect(queueAddress('rediss://host', { ca }).options.tls).toEqual({ ca });
    expect(() => queueAddress('redis://host', { ca })).toThrow('applies to rediss://');
  });
});
