import { expect, it } from 'vitest';
import { printable } from '../../src/base/printable.js';

it.each([
  ['\u001b]0;owned\u0007', '\\u001b]0;owned\\u0007'],
  ['\u009b2J', '\\u009b2J'],
  ['a\r\nb\tc', 'a\\u000d\\u000ab\\u0009c'],
  ['\u202egnp.exe', '\\u202egnp.exe'],
  ['half \ud83d, whole 😀, \uffff', 'half \\ud83d, whole 😀, \\uffff'],
  ['Größe × 3 · Ж中', 'Größe × 3 · Ж中'],
])('%j', (text, shown) => {
  expect(printable(text)).toBe(shown);
});

it('means the same in JSON', () => {
  const value = { 'k\u0085': 'a\u0000\u001b[31m\u2028\u202e"\\' };
  expect(JSON.parse(printable(JSON.stringify(value)))).toEqual(value);
});

it('keeps the characters that it is given', () => {
  expect(printable('a\n\tb\r', '\n\t')).toBe('a\n\tb\\u000d');
});
