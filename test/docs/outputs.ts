import type { Fence } from './markdown.js';

/** In a block, any number of lines; in a line, any text. */
const ELISION = '…';

/** The `text` block that shows what each shell block prints: the one right below it, by the line of the shell block. */
export function outputsOf(fences: readonly Fence[]): Map<number, Fence> {
  const outputs = new Map<number, Fence>();
  fences.forEach((fence, i) => {
    const above = fences[i - 1];
    if (fence.language === 'text' && above?.language === 'sh' && fence.line === above.endLine + 2)
      outputs.set(above.line, fence);
  });
  return outputs;
}

/** The first line of a block that is not in its place in what was printed; null if all are. */
export function mismatch(block: string, printed: string): string | null {
  const lines = linesOf(printed);
  const chunks = chunksOf(block);
  let from = 0;
  for (const [i, chunk] of chunks.entries()) {
    const first = i === 0 ? from : from + Math.max(0, findIn(lines.slice(from), chunk));
    // The last lines of a block are the last lines printed.
    const at = i === chunks.length - 1 && i > 0 ? Math.max(from, lines.length - chunk.length) : first;
    const wrong = chunk.findIndex((wanted, j) => !fits(wanted, lines[at + j]));
    if (wrong >= 0) return chunk[wrong] as string;
    from = at + chunk.length;
  }
  return from === lines.length ? null : 'the end of the block';
}

/** The block with the lines that are printed now in place of those that resemble them most. */
export function renewed(block: string, printed: string): string {
  const lines = linesOf(printed);
  const chunks = chunksOf(block);
  let from = 0;
  const now = chunks.map((chunk, i) => {
    if (chunk.length === 0) return chunk;
    const start = i === 0 ? 0 : mostLike(lines, chunk[0] as string, from);
    const end = i === chunks.length - 1 ? lines.length - 1 : mostLike(lines, chunk.at(-1) as string, start);
    from = end + 1;
    return lines
      .slice(start, end + 1)
      .map((line) => chunk.find((wanted) => wanted.includes(ELISION) && fits(wanted, line)) ?? line);
  });
  return now.map((chunk) => chunk.map((line) => `${line}\n`).join('')).join(`${ELISION}\n`);
}

/** The runs of lines between elided ones; the first or the last is empty where the block begins or ends elided. */
function chunksOf(block: string): string[][] {
  const chunks: string[][] = [[]];
  for (const line of linesOf(block)) {
    if (line === ELISION) chunks.push([]);
    else chunks.at(-1)?.push(line);
  }
  return chunks;
}

function linesOf(text: string): string[] {
  return text
    .trimEnd()
    .split('\n')
    .map((line) => line.trimEnd());
}

/** Where all lines of a chunk follow one another; -1 if nowhere. */
function findIn(lines: readonly string[], chunk: readonly string[]): number {
  return lines.findIndex((_, at) => chunk.every((wanted, j) => fits(wanted, lines[at + j])));
}

function fits(wanted: string, line: string | undefined): boolean {
  const parts = wanted.split(ELISION).map((part) => part.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&'));
  return line !== undefined && new RegExp(`^${parts.join('.*')}$`).test(line);
}

function mostLike(lines: readonly string[], wanted: string, from: number): number {
  let best = from;
  let most = -1;
  for (let at = from; at < lines.length; at++) {
    const likeness = likenessOf(wanted, lines[at] as string);
    if (likeness > most) [best, most] = [at, likeness];
  }
  return best;
}

/** How alike two lines are: in their words whatever the figures, and in the figures, too. */
function likenessOf(a: string, b: string): number {
  const wordsOf = (line: string) => line.split(/\s+/).filter(Boolean);
  const shapeOf = (line: string) => wordsOf(line.replaceAll(/[\d.,]+/g, '#'));
  return shareInCommon(shapeOf(a), shapeOf(b)) + shareInCommon(wordsOf(a), wordsOf(b));
}

function shareInCommon(first: readonly string[], second: readonly string[]): number {
  const left = [...second];
  let both = 0;
  for (const word of first) {
    const at = left.indexOf(word);
    if (at < 0) continue;
    left.splice(at, 1);
    both++;
  }
  return (2 * both) / (first.length + second.length || 1);
}
