import { describe, expect, it } from 'vitest';
import { queueAddress } from '../../../src/run/queue/address.js';
import { tempDir, writeIn } from '../../cli/run-cli.js';

const NONE = { passwordFile: undefined, ca: undefined };

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
    expect(queueAddress(text, NONE)).toEqual({ options, shown });
  });

  it('takes the password from a file', () => {
    const passwordFile = writeIn(tempDir(), 'password', 'hidden\n');
    expect(queueAddress('redis://me@host', { ...NONE, passwordFile }).options).toMatchObject({
      username: 'me',
      password: 'hidden',
    });
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
      queueAddress(text, NONE);
    } catch (error) {
      message = (error as Error).message;
    }
    expect(message).toContain('write redis://HOST:PORT');
    expect(message).not.toContain('secret');
  });

  it('takes an authority for TLS only', () => {
    expect(queueAddress('rediss://host', { ...NONE, ca: 'pem' }).options.tls).toEqual({ ca: 'pem' });
    expect(() => queueAddress('redis://host', { ...NONE, ca: 'pem' })).toThrow('applies to rediss://');
  });
});
