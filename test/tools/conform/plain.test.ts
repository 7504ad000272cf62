import { gzipSync } from 'node:zlib';
import { expect, it } from 'vitest';
import { bodyText } from '../../../src/tools/conform/plain.js';

it.each([
  ['text', '{"id":"grüße 🦊"}\r\n', '{"id":"grüße 🦊"}\r\n'],
  ['nothing', '', ''],
  ['one byte', Buffer.of(0xff), '(1 byte: ff)'],
  [
    'text, then bytes',
    Buffer.concat([Buffer.from('{"ü":1}'), Buffer.of(0, 0, 128, 63)]),
    '{"ü":1} (and 4 bytes: 0000803f)',
  ],
  ['long bytes', Buffer.alloc(9000, 1), `(9000 bytes: ${'01'.repeat(16)}…)`],
  ['text that is cut within a letter', 'ü'.repeat(300).slice(1).padStart(300, 'x'), `x${'ü'.repeat(199)}`],
])('a body is shown as text where it is text, and otherwise in hex: %s', (_, body, shown) => {
  expect(bodyText(Buffer.from(body as string))).toBe(shown);
});

it('a compressed body is shown in hex', () => {
  expect(bodyText(gzipSync('{}'))).toMatch(/^\(22 bytes: 1f8b08[0-9a-f]{26}…\)$/);
});
