import { describe, expect, it } from 'vitest';
import createYargs, { type Options } from 'yargs';
import * as options from '../../src/cli/options.js';

/** The value of `--x` as yargs reads it from a command line. */
async function read(option: Options, ...given: string[]): Promise<unknown> {
  const { x } = await createYargs(given.flatMap((value) => ['--x', value]))
    .options(options.group('Group', { x: option }))
    .parserConfiguration({ 'parse-numbers': false })
    .middleware(options.fillIn)
    .fail((message, error) => {
      throw error ?? new Error(message);
    })
    .exitProcess(false)
    .parseAsync();
  return x;
}

describe('an option', () => {
  it.each<[string, Options, string[], unknown]>([
    ['text', options.text('X'), ['a b'], 'a b'],
    ['text that was not given', options.text('X'), [], undefined],
    ['text with a default', options.text.or('out', 'X'), [], 'out'],
    ['an address', options.address.or('127.0.0.1', 'X'), ['::1'], '::1'],
    ['an address in brackets', options.address.or('127.0.0.1', 'X'), ['[::1]'], '::1'],
    ['a whole number', options.whole(0)('X'), [' 12 '], 12],
    ['a whole number with a default', options.whole(1).or(7, 'X'), [], 7],
    ['no whole number', options.whole(1).orOff(7, 'X'), ['off'], null],
    ['a duration', options.duration.or('30s', 'X'), ['2ms'], 2_000_000],
    ['a duration by default', options.duration.or('30s', 'X'), [], 30_000_000_000],
    ['no duration', options.positiveDuration.orOff('off', 'X'), [], null],
    ['a size', options.size('X'), ['1KiB'], 1024],
    ['a size with a default', options.size.or('64MiB', 'X'), [], 64 * 1024 * 1024],
    ['no size', options.size.orOff('64MiB', 'X'), ['off'], null],
    ['a port', options.port.orOff('8000', 'X'), ['65535'], 65_535],
    ['no port', options.port.orOff('8000', 'X'), ['off'], null],
    ['a choice', options.choice(['http', 'grpc'])('X'), ['grpc'], 'grpc'],
    ['a choice with a default', options.choice(['http', 'grpc']).or('http', 'X'), [], 'http'],
    ['a list', options.list('X'), ['a', 'b'], ['a', 'b']],
    ['an empty list', options.list('X'), [], []],
    ['a switch that was not given', options.toggle('X'), [], false],
  ])('reads %s', async (_, option, given, expected) => {
    expect(await read(option, ...given)).toEqual(expected);
  });

  it.each<[Options, string[], string]>([
    [options.whole(1)('X'), ['0'], '--x 0: must be a whole number, at least 1'],
    [options.whole(0)('X'), ['1.5'], '--x 1.5: must be a whole number, at least 0'],
    [options.whole(0)('X'), ['9007199254740993'], '--x 9007199254740993: must be at most 9007199254740991'],
    [options.whole(0)('X'), ['1', '2'], '--x was given more than once (1, 2)'],
    [options.text('X'), ['a', 'b'], '--x was given more than once (a, b)'],
    [options.text('X'), [''], '--x needs a value'],
    [options.duration.or('1s', 'X'), ['soon'], '--x soon: must be a duration such as 30s or 2ms'],
    [options.positiveDuration.orOff('off', 'X'), ['0s'], '--x 0s: must be longer than 0, or off'],
    [options.rate.or('1/s', 'X'), ['0/s'], '--x 0/s: must be a rate above 0 such as 100/s'],
    [options.size('X'), ['0B'], '--x 0B: must be a size such as 64MiB'],
    [options.port.orOff('1', 'X'), ['65536'], '--x 65536: must be a port, at most 65535'],
    [options.choice(['http', 'grpc'])('X'), ['grcp'], 'Choices: "http", "grpc"'],
    [options.choice(['http', 'grpc'])('X'), ['http', 'http'], '--x was given more than once'],
    [options.required(options.text('X')), [], 'Missing required argument: x'],
  ])('refuses a value: %#', async (option, given, message) => {
    await expect(read(option, ...given)).rejects.toThrow(message);
  });

  it('is named once where another group has it, too', async () => {
    const { x } = options.group('First', { x: options.size('X') });
    await expect(read(x, '0B')).rejects.toThrow(/^--x 0B: must be a size such as 64MiB$/);
  });
});
