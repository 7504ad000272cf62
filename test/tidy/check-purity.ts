import ts from 'typescript';
import { describe, expect, it } from 'vitest';
import { find, importsOf, isValueName, parse, SOURCES } from './sources.js';
import { arrowsOf, roomOf } from './walls.js';

/** Rooms that are pure: time comes in as an argument, chance not at all, and nothing waits. */
const PURE = ['core', 'policies', 'scalers', 'bounds'];

/** Of base, its own files are pure; its folders read files and draw random numbers. */
const isPure = ({ fileName }: ts.SourceFile) =>
  PURE.includes(roomOf(fileName)) || /^src\/base\/[^/]+$/.test(fileName);

/** Clocks, timers, chance, waiting and the outside world, by the name one reaches them with. */
const IMPURE_NAMES = new Set([
  ...['Date', 'performance', 'process', 'console', 'globalThis', 'crypto', 'fetch', 'Atomics', 'Intl'],
  ...['setTimeout', 'setInterval', 'setImmediate', 'queueMicrotask', 'Promise', 'require', 'WeakRef'],
]);

/** Further ways to learn what time it is: by name, whatever they are read from. */
const WALL_CLOCK_NAMES = new Set(['timeOrigin', 'DateTimeFormat', 'mtime', 'ctime', 'birthtime']);

const pure = SOURCES.filter(isPure);

describe('what is pure', () => {
  it('has no clocks, timers, chance, waiting or I/O', () => {
    expect(pure.length).toBeGreaterThan(0);
    expect(pure.flatMap(impurities)).toEqual([]);
  });

  it('imports only what is pure, and no package', () => {
    const files = new Set(pure.map(({ fileName }) => fileName));
    const wrong = pure.flatMap((source) => [
      ...importsOf(source)
        .filter(({ name }) => !name.startsWith('.'))
        .map(({ name }) => `${source.fileName} imports ${name}`),
      ...arrowsOf(source)
        .filter(({ to }) => !files.has(to))
        .map(({ to }) => `${source.fileName} imports ${to}`),
    ]);
    expect(wrong).toEqual([]);
  });

  it('is told apart from what is not', () => {
    const code = 'async function f() { await g(Date.now(), Math.random()); }\nsetTimeout(f);';
    expect(impurities(parse('src/core/bad.ts', code))).toEqual([
      'src/core/bad.ts:1: async function f() { await g(Date.now(), Math.random()); }',
      'src/core/bad.ts:1: await g(Date.now(), Math.random())',
      'src/core/bad.ts:1: Date',
      'src/core/bad.ts:1: Math.random',
      'src/core/bad.ts:2: setTimeout',
    ]);
  });
});

describe('everywhere', () => {
  it('random numbers come from the seeded streams', () => {
    expect(SOURCES.flatMap((source) => find(source, isMathRandom))).toEqual([]);
  });

  // `Date.UTC` turns a written date into a number; everything else about dates asks what time it is.
  it('one file reads the wall clock', () => {
    const readsClock = (node: ts.Node) =>
      (isValueName(node, 'Date') &&
        !(ts.isPropertyAccessExpression(node.parent) && node.parent.name.text === 'UTC')) ||
      (ts.isIdentifier(node) && WALL_CLOCK_NAMES.has(node.text));
    const found = SOURCES.filter((source) => find(source, readsClock).length > 0);
    expect(found.map(({ fileName }) => fileName)).toEqual(['src/base/clock/wall-clock.ts']);
    const dodges =
      'performance.timeOrigin + 1; new Intl.DateTimeFormat("sv"); statSync(".").mtime; new Date();';
    expect(find(parse('src/cli/bad.ts', dodges), readsClock)).toHaveLength(4);
  });
});

function impurities(source: ts.SourceFile): string[] {
  return find(
    source,
    (node) =>
      isMathRandom(node) ||
      ts.isAwaitExpression(node) ||
      (ts.isForOfStatement(node) && node.awaitModifier !== undefined) ||
      (ts.canHaveModifiers(node) &&
        ts.getModifiers(node)?.some(({ kind }) => kind === ts.SyntaxKind.AsyncKeyword) === true) ||
      (ts.isIdentifier(node) && isValueName(node, node.text) && IMPURE_NAMES.has(node.text)),
  );
}

function isMathRandom(node: ts.Node): boolean {
  return (
    ts.isPropertyAccessExpression(node) &&
    node.name.text === 'random' &&
    ts.isIdentifier(node.expression) &&
    node.expression.text === 'Math'
  );
}
