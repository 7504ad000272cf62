import { describe, expect, it } from 'vitest';
import { list, orVariable, required, text, textOr, toggle, wholeOr } from '../../src/cli/flag.js';
import { parse } from '../../src/cli/parse.js';
import { usageOf } from '../../src/cli/usage.js';

const USAGE = usageOf({
  arguments: { file: required(text('FILE', 'what to read')), more: list('FILE', 'and what else') },
  flags: {
    seed: wholeOr(0, 1, 'random numbers'),
    set: list('KEY=VALUE', 'overrides'),
    quiet: toggle('no progress'),
    concurrency: wholeOr(1, 8, 'requests at once'),
  },
});

const read = (...args: string[]) => parse(USAGE, args, 'try');

describe('a flag with an environment variable', () => {
  const usage = usageOf({
    flags: { host: orVariable('ESCAPEMENT_HOST', textOr('ADDRESS', '127.0.0.1', 'address')) },
  });
  const hostOf = (args: string[], variable?: string) =>
    parse(usage, args, 'try', { ESCAPEMENT_HOST: variable });

  it('has the value of the command line, then that of the variable, then its default', () => {
    expect(hostOf(['--host', '::'], '0.0.0.0')).toMatchObject({ args: { host: '::' } });
    expect(hostOf([], '0.0.0.0')).toMatchObject({ args: { host: '0.0.0.0' } });
    for (const absent of [undefined, ''])
      expect(hostOf([], absent)).toMatchObject({ args: { host: '127.0.0.1' } });
  });

  it('says so where it is described', () => {
    expect(usage.flags.host.describe).toBe('address; environment variable: ESCAPEMENT_HOST');
  });
});

describe('the words of a command line', () => {
  it('are flags and arguments in any order, with defaults', () => {
    expect(read('--seed', '3', 'a.yaml', '--quiet', 'b', '--set=slo=1s', '--set', 'x=-1', 'c')).toEqual({
      asks: 'run',
      args: {
        file: 'a.yaml',
        more: ['b', 'c'],
        seed: 3,
        set: ['slo=1s', 'x=-1'],
        quiet: true,
        concurrency: 8,
      },
    });
    expect(read('a.yaml')).toMatchObject({ args: { seed: 1, set: [], quiet: false, more: [] } });
  });

  it('may begin with a dash behind =, and as a negative number', () => {
    expect(read('a', '--set=-x=1', '--set', '-1')).toMatchObject({ args: { set: ['-x=1', '-1'] } });
    expect(read('a', '--set', '-5/s', '--set', '-.5ms')).toMatchObject({ args: { set: ['-5/s', '-.5ms'] } });
  });

  it('are arguments behind --', () => {
    expect(read('--', '--seed')).toMatchObject({ args: { file: '--seed', seed: 1 } });
  });

  it.each([
    [['--help'], 'help'],
    [['-h'], 'help'],
    [['a', '--version', '--unknown'], 'version'],
  ])('%j asks for %s', (args, asks) => {
    expect(read(...args)).toEqual({ asks });
  });

  it.each([
    [[], 'try: <file> is missing; see escapement try --help'],
    [['a', '--sed', '1'], 'unknown flag --sed; did you mean --seed?'],
    [
      ['a', '--nothing-like-it'],
      'unknown flag --nothing-like-it; see escapement try --help; a key of the experiment is written --set nothing-like-it=VALUE',
    ],
    [['a', '-q'], 'unknown flag -q'],
    [['a', '--clients', '4'], '--clients was renamed to --concurrency'],
    [
      ['a', '--seconds', '4'],
      'unknown flag --seconds; see escapement try --help; a key of the experiment is written --set seconds=VALUE',
    ],
    [['a', '--seed'], '--seed needs a value: --seed NUMBER'],
    [['a', '--set', '--quiet'], '--set needs a value: --set KEY=VALUE'],
    [['a', '--seed', '1', '--seed', '2'], '--seed was given more than once (1, 2)'],
    [['a', '--quiet=perhaps'], '--quiet takes no value, found perhaps'],
    [['a', '--constructor'], 'unknown flag --constructor'],
    [['a', '--set', '-p99<3'], '--set needs a value: --set KEY=VALUE'],
    [['a', '--seed', '-1'], '--seed -1: must be a whole number'],
    [['a', '--sed', '-1'], 'unknown flag --sed'],
  ])('%j is refused: %s', (args, message) => {
    expect(() => read(...args)).toThrow(
      expect.objectContaining({ code: 'E_USAGE', message: expect.stringContaining(message) }),
    );
  });

  it('are refused beyond the last argument', () => {
    const one = usageOf({ arguments: { file: required(text('FILE', 'what to read')) } });
    expect(() => parse(one, ['a', 'b'], 'try')).toThrow(
      'try: unexpected argument b; see escapement try --help',
    );
  });
});
