import { describe, expect, it } from 'vitest';
import {
  addressOr,
  choice,
  choiceOr,
  durationOr,
  durationOrOff,
  type Flag,
  group,
  list,
  portOr,
  required,
  size,
  sizeOr,
  sizeOrOff,
  text,
  textOr,
  toggle,
  whole,
  wholeOr,
} from '../../src/cli/flag.js';

const value = (flag: Flag<unknown>, ...given: string[]) => flag.read(given, '--x');

describe('a flag', () => {
  it('that is a duration or off takes no 0, which would mean always', () => {
    const idle = durationOrOff('off', '');
    expect([value(idle), value(idle, 'off'), value(idle, '10ms')]).toEqual([null, null, 10e6]);
    expect(() => value(idle, '0s')).toThrow('--x 0s: must be longer than 0, or off');
  });

  it.each<[string, Flag<unknown>, string[], unknown]>([
    ['text', text('FILE', ''), ['a b'], 'a b'],
    ['text that was not given', text('FILE', ''), [], undefined],
    ['text with a default', textOr('FILE', 'out', ''), [], 'out'],
    ['an address', addressOr('127.0.0.1', ''), ['::1'], '::1'],
    ['an address in brackets', addressOr('127.0.0.1', ''), ['[::1]'], '::1'],
    ['a whole number', whole(0, ''), [' 12 '], 12],
    ['a whole number with a default', wholeOr(1, 7, ''), [], 7],
    ['a duration', durationOr('30s', ''), ['2ms'], 2_000_000],
    ['a duration by default', durationOr('30s', ''), [], 30_000_000_000],
    ['a size', size(''), ['1KiB'], 1024],
    ['a size with a default', sizeOr('64MiB', ''), [], 64 * 1024 * 1024],
    ['no size', sizeOrOff('64MiB', ''), ['off'], null],
    ['a port', portOr('8000', ''), ['65535'], 65_535],
    ['no port', portOr('8000', ''), ['off'], null],
    ['a choice', choice(['http', 'grpc'], ''), ['grpc'], 'grpc'],
    ['a choice with a default', choiceOr(['http', 'grpc'], 'http', ''), [], 'http'],
    ['a list', list('KEY=VALUE', ''), ['a', 'b'], ['a', 'b']],
    ['a switch', toggle(''), ['true'], true],
    ['a switch that was not given', toggle(''), [], false],
  ])('reads %s', (_, flag, given, expected) => {
    expect(value(flag, ...given)).toEqual(expected);
  });

  it.each<[Flag<unknown>, string, string]>([
    [whole(1, ''), '0', '--x 0: must be a whole number, at least 1'],
    [whole(0, ''), '1.5', '--x 1.5: must be a whole number, at least 0'],
    [whole(0, ''), '9007199254740993', 'must be a whole number'],
    [durationOr('1s', ''), 'soon', '--x soon: must be a duration such as 30s or 2ms'],
    [size(''), '0B', '--x 0B: must be a size such as 64MiB'],
    [size(''), 'big', '--x big: must be a size such as 64MiB'],
    [portOr('1', ''), '65536', '--x 65536: must be a port, at most 65535'],
    [choice(['http', 'grpc'], ''), 'grcp', 'must be one of http, grpc; did you mean "grpc"?'],
  ])('refuses a value: %#', (flag, given, message) => {
    expect(() => value(flag, given)).toThrow(
      expect.objectContaining({ code: 'E_USAGE', message: expect.stringContaining(message) }),
    );
  });

  it('that is required, but absent, is named', () => {
    expect(() => value(required(text('FILE', '')))).toThrow('--x is required');
    expect(value(required(text('FILE', '')), 'a')).toBe('a');
  });

  it('says what shells may offer for its value', () => {
    const offered = ['FILE', 'FOLDER', 'KEY=VALUE', 'NUMBER'].map((kind) => text(kind, '').completes);
    expect(offered).toEqual(['file', 'folder', 'override', 'nothing']);
  });

  it('is listed under the heading of its group', () => {
    const { seed } = group('Random numbers', { seed: whole(0, '') });
    expect([seed.group, value(seed, '4')]).toEqual(['Random numbers', 4]);
  });
});
