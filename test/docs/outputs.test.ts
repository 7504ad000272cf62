import { describe, expect, it } from 'vitest';
import { fencesOf } from './markdown.js';
import { mismatch, outputsOf, renewed } from './outputs.js';

const DOCUMENT = `# A title

\`\`\`sh
one
\`\`\`

\`\`\`text
printed by one
\`\`\`

Some words.

\`\`\`text
printed by nothing
\`\`\`

\`\`\`sh
two
\`\`\`

Some words.

\`\`\`text
not right below
\`\`\`
`;

describe('the output of a shell block', () => {
  it('is the text block right below it', () => {
    const outputs = outputsOf(fencesOf(DOCUMENT));
    expect([...outputs].map(([line, { code }]) => [line, code])).toEqual([[3, 'printed by one\n']]);
  });
});

const PRINTED = 'header\n a  1\n b  2\nmiddle\nsize 12 MB\ntime 3 s\nfooter\n';

describe('an output', () => {
  it.each([
    ['all of it', PRINTED],
    ['lines left out anywhere', 'header\n…\n b  2\n…\ntime 3 s\nfooter\n'],
    ['begin and end left out', '…\n a  1\n b  2\n…\n'],
    ['text left out of a line', '…\nsize … MB\n…\n'],
  ])('is as it was printed: %s', (_, block) => {
    expect(mismatch(block, PRINTED)).toBeNull();
  });

  it.each([
    ['another figure', '…\n a  2\n…\n', ' a  2'],
    ['lines left out without a sign', 'header\n b  2\n…\n', ' b  2'],
    ['the end left out without a sign', 'header\n a  1\n', 'the end of the block'],
    ['the beginning left out without a sign', 'footer\n', 'footer'],
    ['another order', '…\nmiddle\n…\n a  1\n…\n', ' a  1'],
    ['another last line', '…\ntime 3 s\n', 'time 3 s'],
    ['a sign that is no pattern', '…\nsize .. MB\n…\n', 'size .. MB'],
  ])('is not as it was printed: %s', (_, block, line) => {
    expect(mismatch(block, PRINTED)).toBe(line);
  });

  it.each([
    ['new figures', 'header\n a  7\n b  8\n…\n', 'header\n a  1\n b  2\n…\n'],
    ['a new line between two', '…\n a  7\nmiddle\n…\n', '…\n a  1\n b  2\nmiddle\n…\n'],
    ['text that stays left out', '…\nsize … MB\ntime 9 s\n…\n', '…\nsize … MB\ntime 3 s\n…\n'],
    [
      'rows alike but for their figures',
      '…\n a  5\n b  2\nmiddle\nsize 12 MB\n…\n',
      '…\n a  1\n b  2\nmiddle\nsize 12 MB\n…\n',
    ],
    ['a last line', 'head\n…\nfooter 2\n', 'header\n…\nfooter\n'],
  ])('is renewed: %s', (_, block, now) => {
    const result = renewed(block, PRINTED);
    expect(result).toBe(now);
    expect(mismatch(result, PRINTED)).toBeNull();
  });

  it('is renewed to the last row of a table whose rows are alike', () => {
    const printed = 'n  rate\n1  10.0\n2  20.0\n3  30.0\nend\n';
    expect(renewed('…\nn rate\n1 9\n3  30.0\n…\n', printed)).toBe(
      '…\nn  rate\n1  10.0\n2  20.0\n3  30.0\n…\n',
    );
  });
});
