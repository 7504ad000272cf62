import { describe, expect, it, test } from 'vitest';
import { GivenFile } from '../../src/cli/options.js';
import { runCli, SMALL_EXPERIMENT, tempDir, writeIn } from './run-cli.js';
import { tinyProfile } from './server-process.js';

const ASCII = 'the token must be one line of printable ASCII';
const EMPTY = 'the file is empty';

const REFUSED: readonly [string, string | Uint8Array, string][] = [
  ['nothing', '', EMPTY],
  ['white space', ' \r\n\n', EMPTY],
  ['two lines', 'sesame\nopen', ASCII],
  ['two lines of Windows', 'sesame\r\nopen\r\n', ASCII],
  ['a lone carriage return', 'sesame\ropen', ASCII],
  ['a tab', 'sesame\topen', ASCII],
  ['a zero byte', 'sesame\0', ASCII],
  ['an escape character', 'sesame\x1b', ASCII],
  ['a delete character', 'sesame\x7f', ASCII],
  ['a byte that is no UTF-8', Buffer.from('sesame\xff', 'latin1'), ASCII],
  ['a letter outside ASCII', 'sesame-schlüssel\n', ASCII],
  ['UTF-16', Buffer.from('\ufeffsesame', 'utf16le'), ASCII],
];

/** Token in a file, as an option reads it. */
const read = (path: string) => new GivenFile(path, '--token-file').token;

describe('a file of --token-file', () => {
  it.each(REFUSED)('is refused with %s', (_, content, why) => {
    const path = writeIn(tempDir(), 'token', content);
    const refused = expect.objectContaining({ code: 'E_USAGE', message: `--token-file ${path}: ${why}` });
    expect(() => read(path)).toThrow(refused);
  });

  it('holds one line of printable ASCII', () => {
    let printable = '';
    for (let code = 0x21; code < 0x7f; code++) printable += String.fromCharCode(code);
    for (const text of [printable, 'open sesame', 'x'])
      for (const content of [text, `${text}\n`, `${text}\r\n`, `  ${text}\t\n\n`, `\ufeff${text}`])
        expect(read(writeIn(tempDir(), 'token', content))).toBe(text);
  });
});

const CLOSED = '127.0.0.1:9';
const PORTS = ['--http-port', '0', '--grpc-port', '0', '--metrics-port', 'off'];

const experiment = () => writeIn(tempDir(), 'small.yaml', SMALL_EXPERIMENT);

/** Each command that reads a token. Nothing listens where they would connect. */
const COMMANDS: readonly [string, () => readonly string[]][] = [
  ['load over HTTP', () => ['load', experiment(), '--url', `http://${CLOSED}`]],
  ['load over gRPC', () => ['load', experiment(), '--url', `grpc://${CLOSED}`]],
  ['profile measure', () => ['profile', 'measure', '--url', `http://${CLOSED}`]],
  ['top', () => ['top', `http://${CLOSED}`]],
  ['serve', () => ['serve', '--device', `simulated:${tinyProfile()}`, ...PORTS]],
  ['controller', () => ['controller', '--worker', CLOSED, ...PORTS]],
  ['worker', () => ['worker', '--device', `simulated:${tinyProfile()}`, '--port', '0']],
];

test.each(COMMANDS)('%s refuses a token that no client can send, in one line without it', async (_, args) => {
  const path = writeIn(tempDir(), 'token', 'sesame\nopen');
  const { status, stdout, stderr } = await runCli([...args(), '--token-file', path]);
  expect(stderr).toBe(`escapement: E_USAGE: --token-file ${path}: ${ASCII}\n`);
  expect([status, stdout]).toEqual([2, '']);
});

test('a controller refuses a token for its workers that it cannot send', async () => {
  const path = writeIn(tempDir(), 'token', 'sesame\nopen');
  const run = await runCli(['controller', '--worker', CLOSED, ...PORTS, '--worker-token-file', path]);
  expect(run.stderr).toBe(`escapement: E_USAGE: --worker-token-file ${path}: ${ASCII}\n`);
  expect(run.status).toBe(2);
});
