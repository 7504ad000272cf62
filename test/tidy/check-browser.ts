import ts from 'typescript';
import { describe, expect, it } from 'vitest';
import { find, importsOf, isValueName, parse, resolveImport, SOURCES } from './sources.js';

const ENTRIES = ['src/browser/index.ts', 'src/play/engine/worker.ts'];

/** Packages that run in browsers. */
const PACKAGES = ['papaparse', 'pathe', 'seedrandom', 'tinyqueue', 'yaml', 'zod'];

/** What only Node has, by the name one reaches it with. */
const NODE_NAMES = new Set([
  'process',
  'Buffer',
  'require',
  'setImmediate',
  'clearImmediate',
  '__dirname',
  'global',
]);

describe.each(ENTRIES)('what a browser loads: %s', (entry) => {
  const loaded = reachable(entry, SOURCES);

  it('reaches the simulator and the reader of experiments', () => {
    const names = loaded.map(({ fileName }) => fileName);
    expect(names).toEqual(expect.arrayContaining(['src/sim/simulator.ts', 'src/config/build.ts']));
  });

  it('imports no module of Node, and no package but those that run in browsers', () => {
    expect(new Set(loaded.flatMap(packagesOf))).toEqual(new Set(PACKAGES));
  });

  it('uses nothing that only Node has', () => {
    expect(loaded.flatMap(nodeNames)).toEqual([]);
  });
});

describe('what a browser loads', () => {
  it('is told apart from what is imported as a type', () => {
    const files = [
      parse('src/a.ts', "import { b } from './b.js';\nimport type { C } from './c.js';"),
      parse('src/b.ts', "import { readFileSync } from 'node:fs';\nconst cores = process.env.CORES;"),
      parse('src/c.ts', "import 'node:os';"),
    ];
    const found = reachable('src/a.ts', files);
    expect(found.flatMap(packagesOf)).toEqual(['node:fs']);
    expect(found.flatMap(nodeNames)).toEqual(['src/b.ts:2: process']);
  });
});

/** The files that are loaded with `entry`, itself included. */
function reachable(entry: string, sources: readonly ts.SourceFile[]): ts.SourceFile[] {
  const byName = new Map(sources.map((source) => [source.fileName, source]));
  const found = new Map<string, ts.SourceFile>();
  const visit = (name: string) => {
    const source = byName.get(name);
    if (source === undefined || found.has(name)) return;
    found.set(name, source);
    for (const { name: to, erased } of importsOf(source))
      if (!erased && to.startsWith('.')) visit(resolveImport(name, to));
  };
  visit(entry);
  return [...found.values()];
}

function packagesOf(source: ts.SourceFile): string[] {
  return importsOf(source)
    .filter(({ name, erased }) => !erased && !name.startsWith('.'))
    .map(({ name }) => name);
}

function nodeNames(source: ts.SourceFile): string[] {
  return find(
    source,
    (node) => ts.isIdentifier(node) && isValueName(node, node.text) && NODE_NAMES.has(node.text),
  );
}
