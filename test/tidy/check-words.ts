import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ROOT, SOURCES, trackedFiles } from './sources.js';

/** Words that read as translated, with what to write instead. */
const WORDS: readonly (readonly [pattern: RegExp, instead: string])[] = [
  [/\bmend(?:s|ed|ing)?\b/gi, 'fix'],
  [/\bbeside\b/gi, 'next to, in addition to, during'],
  [/\btold\b(?!\s+apart)/gi, 'notified, given, reported'],
  [/\b(?:nobody|whoever)\b/gi, 'name who it is, or use the passive'],
  [/\bbears?\b/gi, 'support, accept, tolerate'],
  [/\banew\b/gi, 'again'],
  [/\b(?:whence|thereof|lest|heed(?:s|ed)?)\b/gi, 'plain words'],
];

/** Openings of a doc comment that riddle instead of naming the thing. */
const RIDDLE = /\/\*\*[\s*]*(?:What|How|Whether|Of|The same)\b/g;

const ROOTS = /^(?:src|test|experiments|docs|deploy)\/|^(?:README|CONTRIBUTING)\.md$/;
const TEXT = /\.(?:c?ts|tsx|html|md|ya?ml|proto|json|mjs|py|sh|tex|vue|css)$/;

describe('words', () => {
  it('are those that a native engineer would write', () => {
    const files = trackedFiles().filter(
      // This file has to name them; digests and results are no prose.
      (file) => ROOTS.test(file) && TEXT.test(file) && file !== 'test/tidy/check-words.ts',
    );
    expect(files.length).toBeGreaterThan(500);
    const found = files
      .filter((file) => statSync(join(ROOT, file), { throwIfNoEntry: false })?.isFile())
      .flatMap((file) => foreignWords(file, readFileSync(join(ROOT, file), 'utf8')));
    expect(found).toEqual([]);
  });

  it('are found whole, with their place and what to write instead', () => {
    const text = 'A recommendation besides a bearing, told apart.\nNobody was told.\n// `mends` it anew';
    expect(foreignWords('a.md', text)).toEqual([
      'a.md:3: mends (fix)',
      'a.md:2: told (notified, given, reported)',
      'a.md:2: Nobody (name who it is, or use the passive)',
      'a.md:3: anew (again)',
    ]);
  });
});

describe('doc comments', () => {
  it('open with the thing or a verb', () => {
    expect(SOURCES.length).toBeGreaterThan(300);
    expect(SOURCES.flatMap(({ fileName, text }) => riddles(fileName, text))).toEqual([]);
  });

  it('are found with their place, on one line or several', () => {
    const text = '/** Of each request. */\n/** Often, what it is. */\n/**\n * The same for all.\n */';
    expect(riddles('a.ts', text)).toEqual(['a.ts:1: Of', 'a.ts:3: The same']);
  });
});

function riddles(file: string, text: string): string[] {
  return [...text.matchAll(RIDDLE)].map(
    ({ 0: opening, index }) =>
      `${file}:${text.slice(0, index).split('\n').length}: ${opening.replace(/^[/*\s]+/, '')}`,
  );
}

function foreignWords(file: string, text: string): string[] {
  return WORDS.flatMap(([pattern, instead]) =>
    [...text.matchAll(pattern)].map(({ 0: word, index }) => {
      const line = text.slice(0, index).split('\n').length;
      return `${file}:${line}: ${word} (${instead})`;
    }),
  );
}
