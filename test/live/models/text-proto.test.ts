import { describe, expect, it } from 'vitest';
import { readTextProto, type TextField } from '../../../src/live/models/text-proto.js';

const read = (text: string) => readTextProto(text, (what, line) => new Error(`${line}: ${what}`)).map(plain);

/** Name and value; a message is a list. */
function plain({ name, value }: TextField): [string, unknown] {
  return [
    name,
    value.kind === 'message' ? value.fields.map(plain) : 'text' in value ? value.text : value.number,
  ];
}

describe("protobuf's text format", () => {
  it('has values, sections, lists and comments, with or without separators', () => {
    const text = `# a model
      name: "m"; max_batch_size: 8,
      input [
        { name: 'x' dims: [ -1, 3 ] },
        { name: "y" data_type: TYPE_FP32 } # the other
      ]
      version_policy: { latest { num_versions: 2 } }
      options < depth: 1.5e3 >`;
    expect(read(text.replace('input [', 'input: ['))).toEqual([
      ['name', 'm'],
      ['max_batch_size', 8],
      [
        'input',
        [
          ['name', 'x'],
          ['dims', -1],
          ['dims', 3],
        ],
      ],
      [
        'input',
        [
          ['name', 'y'],
          ['data_type', 'TYPE_FP32'],
        ],
      ],
      ['version_policy', [['latest', [['num_versions', 2]]]]],
      ['options', [['depth', 1500]]],
    ]);
    // Triton's own files leave the colon out before a list of messages.
    expect(read('input [ { name: "x" } ]')).toEqual([['input', [['name', 'x']]]]);
    expect(read('')).toEqual([]);
  });

  it('joins strings next to each other and knows their escapes', () => {
    expect(
      read(String.raw`a: "x\n" 'y\"\x41\101'"\u0041\U0001F600" # not "z"
      '' b: "" c: "\303\251\xc3\xa9" d: '#"' e: "\a\b\f\r\t\v\?\\\'\0001"`),
    ).toEqual([
      ['a', 'x\ny"AAA\u{1F600}'],
      ['b', ''],
      ['c', 'éé'],
      ['d', '#"'],
      ['e', "\x07\b\f\r\t\v?\\'\x001"],
    ]);
  });

  it('has whole numbers, floats and names', () => {
    const numbers = '1 -1 -7 0 017 0x1F 0XaB 1.5 .5 5. 1e3 1E-2 10f 1.5F -2.f inf -Infinity NaN';
    const values = readTextProto(
      numbers
        .split(' ')
        .map((each) => `a: ${each}`)
        .join(';'),
      unexpected,
    ).map(({ value }) => [value.kind, 'number' in value ? value.number : null]);
    expect(values).toEqual([
      ...[1, -1, -7, 0, 15, 31, 171].map((number) => ['integer', number]),
      ...[1.5, 0.5, 5, 1000, 0.01, 10, 1.5, -2].map((number) => ['float', number]),
      ['float', Number.POSITIVE_INFINITY],
      ['float', Number.NEGATIVE_INFINITY],
      ['float', Number.NaN],
    ]);
    expect(read('a: - # minus\n 7, b: true c: TYPE_FP32')).toEqual([
      ['a', -7],
      ['b', 'true'],
      ['c', 'TYPE_FP32'],
    ]);
  });

  it('takes lists, separators and brackets as they come', () => {
    expect(read('\ufeffa: [1, 2]; b: [] c [{ d: 1; } , < d: 2, >] e {}')).toEqual([
      ['a', 1],
      ['a', 2],
      ['c', [['d', 1]]],
      ['c', [['d', 2]]],
      ['e', []],
    ]);
  });

  it.each([
    ['a: {\nb: 1', '2: expected a field or "}", found the end of the file'],
    ['a { b: 1 >', '1: expected a field or "}", found ">"'],
    ['a 1', '1: expected ":" or "{", found "1"'],
    ['\n\na: }', '3: expected a value, found "}"'],
    ['a: "x\n"', '1: expected a value, found "\\""'],
    ['a: [1 2]', '1: expected "," or "]", found "2"'],
    ['a: [1,]', '1: expected a value, found "]"'],
    ['a: 1 }', '1: expected a field, found "}"'],
    ['é: 1', '1: expected a field, found "é"'],
    ['a: 10bar', '1: expected a value, found "10bar"'],
    ['a: 08', '1: expected a value, found "08"'],
    ['a: -"x"', '1: expected a value'],
    [String.raw`a: "\q"`, String.raw`1: "\q" has an escape that is not valid`],
    [String.raw`a: "\U00110000"`, 'not valid'],
    ['\n[com.example.field]: 1', '2: names of extensions and types are not supported'],
    ['a {'.repeat(100_000), '1: messages are nested too deeply'],
  ])('says where it is wrong: %#', (text, message) => {
    expect(() => read(text)).toThrow(message);
  });
});

function unexpected(what: string): Error {
  return new Error(what);
}
