import { expect, test } from 'vitest';
import { EscapementError } from '../../../src/base/errors.js';
import { readYaml } from '../../../src/base/files/yaml-text.js';

const read = (text: string) =>
  readYaml(text, (what, line) => new EscapementError('E_CONFIG_SYNTAX', `${line}: ${what}`)).value;

/** Nine sections, each nine times the one before: 9^9 values if they were written out. */
const BOMB = `${Array.from({ length: 9 }, (_, i) => `k${i}: &k${i} [${Array(9).fill(i === 0 ? '1' : `*k${i - 1}`)}]`).join('\n')}\n`;

const MERGE_KEY = (line: number) =>
  `${line}: merge keys (<<) are not supported: write out the keys that it would add`;

test.each([
  ['a list that holds itself', 'a: &a [*a]\nb: *a\n', '1: the alias *a is inside its own anchor'],
  ['a section that holds itself, deeper', 'x: 1\na: &a\n  b: [{ c: *a }]\n', /^3: the alias \*a is inside/],
  ['an alias before its anchor', 'a: *b\nb: &b 1\n', '1: no anchor &b comes before this alias'],
  ['aliases that multiply', BOMB, /the aliases expand to far too much/],
  ['two documents', 'a: 1\n---\nb: 2\n', '2: a second document begins here: write one'],
  ['a section as a key', 'a: 1\n? { b: 1 }\n: 2\n', '2: a key must be text, not a list or section'],
  ['a merge key', 'a: &a { b: 1 }\nc:\n  <<: *a\n', MERGE_KEY(3)],
  ['a merge key of several', 'a: &a { b: 1 }\nc: [{ d: 2, <<: [*a, *a] }]\n', MERGE_KEY(2)],
  ['a merge key of YAML 1.1', '%YAML 1.1\n---\na: &a { b: 1 }\nc: { <<: *a }\n', MERGE_KEY(4)],
  ['a tag beyond JSON', 'a: 1\nb: !!binary aGk=\n', '2: Unresolved tag: tag:yaml.org,2002:binary'],
])('%s is refused in one line', (_, text, message) => {
  const problem = expect.objectContaining({ code: 'E_CONFIG_SYNTAX' });
  expect(() => read(text)).toThrow(problem);
  expect(() => read(text)).toThrow(
    typeof message === 'string' ? new RegExp(`^${escaped(message)}$`) : message,
  );
});

test('aliases to what stands elsewhere are written out', () => {
  expect(read('a: &a { b: [1, x] }\nc: [*a, *a]\nd: !!str 5\n')).toEqual({
    a: { b: [1, 'x'] },
    c: [{ b: [1, 'x'] }, { b: [1, 'x'] }],
    d: '5',
  });
  expect(read('')).toBeNull();
});

test('what looks like a merge key may be text', () => {
  expect(read('{ "<<": "<<", a: << }')).toEqual({ '<<': '<<', a: '<<' });
});

function escaped(text: string): string {
  return text.replace(/[*.?()[\]{}]/g, '\\$&');
}
