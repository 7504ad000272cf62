import { describe, expect, it } from 'vitest';
import { readTextProto, type TextField } from '../../../src/live/models/text-proto.js';

const read = (text: string) => readTextProto(text, (what, line) => new Error(`${line}: ${what}`)).map(plain);

/** Name and value; a message is a list. */
function plain({ name, value }: TextField): [string, unknown] {
  return [name, value.kind === 'message' ? value.fields.map(plain) : value.text];
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
      ['max_batch_size', '8'],
      [
        'input',
        [
          ['name', 'x'],
          ['dims', '-1'],
          ['dims', '3'],
        ],
      ],
      [
        'input',
        [
          ['name', 'y'],
          ['data_type', 'TYPE_FP32'],
        ],
      ],
      ['version_policy', [['latest', [['num_versions', '2']]]]],
      ['options', [['depth', '1.5e3']]],
    ]);
    // Triton's own files leave the colon out before a list of messages.
    expect(read('input [ { name: "x" } ]')).toEqual([['input', [['name', 'x']]]]);
    expect(read('')).toEqual([]);
  });

  it('joins strings next to each other and knows their escapes', () => {
    expect(read(String.raw`a: "x\n" 'y\"\x41\101' b: ""`)).toEqual([
      ['a', 'x\ny"AA'],
      ['b', ''],
    ]);
  });

  it.each([
    ['a: {\nb: 1', '2: expected a field or "}", found the end of the file'],
    ['a 1', '1: expected ":" or "{", found "1"'],
    ['\n\na: }', '3: expected a value, found "}"'],
    ['a: "x', '1: unexpected "\\""'],
    ['a: [1 2]', '1: expected "," or "]", found "2"'],
    ['a: 1 }', '1: expected a field, found "}"'],
    ['é: 1', '1: unexpected "é"'],
    ['a {'.repeat(100_000), '1: messages are nested too deeply'],
  ])('says where it is wrong: %#', (text, message) => {
    expect(() => read(text)).toThrow(message);
  });
});
