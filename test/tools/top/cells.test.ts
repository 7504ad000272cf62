import { createInterface } from 'node:readline';
import { PassThrough } from 'node:stream';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { cut, padEnd, padStart, printable, widthOf } from '../../../src/tools/top/cells.js';

/** Cells that Node's line editor reckons with, by tables of its own. */
function nodeWidth(text: string): number {
  const editor = createInterface({ input: new PassThrough(), output: new PassThrough(), terminal: true });
  editor.setPrompt('');
  editor.write(text);
  const { rows, cols } = editor.getCursorPos();
  editor.close();
  expect(rows).toBe(0);
  return cols;
}

describe('cells of a terminal', () => {
  it.each([
    ['resnet50', 8],
    ['Rufbereitschaft-ü', 17],
    ['café', 4],
    ['cafe\u0301', 4],
    ['模型-五十', 9],
    ['モデル', 6],
    ['ｆｕｌｌ', 8],
    ['모델', 4],
    ['модель ×4…', 10],
    ['🚀', 2],
    ['䷀𝌆', 4],
    ['々〆ヶ', 6],
    ['𗀀𛅰', 4],
    ['▁▂▃█', 4],
  ])('%s takes %i', (text, width) => {
    expect([widthOf(text), nodeWidth(text)]).toEqual([width, width]);
  });

  it('never count less than Node reckons', () => {
    // Node takes some musical notes apart, and gives two cells to marks of wide letters, which terminals give none.
    const wideMarks = /[\u302a-\u302d\u3099\u309a\u{16fe4}]/gu;
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 30 }), (text) => {
        const shown = printable(text).normalize('NFC').replaceAll(wideMarks, '');
        expect(widthOf(shown)).toBeGreaterThanOrEqual(nodeWidth(shown));
      }),
    );
  });

  it('let no command through', () => {
    expect(printable('a\u001b[2Jb\r\n\tc\u0007\u009b1m\u202ed')).toBe('a?[2Jb???c??1md');
    expect(printable('👩\u200d💻 \ud800')).toBe('👩💻 ?');
  });

  it('are cut between letters, with an ellipsis', () => {
    expect([
      cut('resnet50', 8),
      cut('resnet50', 5),
      cut('模型模型', 4),
      cut('abc', 1),
      cut('abc', 0),
    ]).toEqual(['resnet50', 'resn…', '模…', '…', '']);
  });

  it('are padded to a width, whatever the text', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), fc.integer({ min: 0, max: 20 }), (text, columns) => {
        const shown = printable(text);
        expect([widthOf(padEnd(shown, columns)), widthOf(padStart(shown, columns))]).toEqual([
          columns,
          columns,
        ]);
      }),
    );
  });
});
