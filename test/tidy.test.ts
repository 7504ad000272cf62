import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import { describe, expect, it } from 'vitest';

const ROOT = fileURLToPath(new URL('..', import.meta.url));

/**
 * What each folder of src may import besides itself. The controller, the workers and the policies must
 * run unchanged under any clock, so nothing above leaks into `core` and `policies`.
 */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  core: [],
  random: [],
  files: ['core'],
  // Checks what the others claim, so it shares no code with them.
  audit: ['core'],
  policies: ['core'],
  bounds: ['core'],
  sim: ['core', 'random'],
  workload: ['core', 'random', 'files'],
  metrics: ['core', 'files'],
  live: ['core', 'files', 'random', 'metrics'],
  experiment: ['core', 'random', 'bounds', 'policies', 'sim', 'workload', 'metrics'],
  report: ['core', 'files', 'metrics', 'experiment'],
  sweep: ['core', 'files', 'metrics', 'experiment', 'report'],
  planner: ['core', 'files', 'metrics', 'experiment', 'report', 'sweep'],
  // Where experiments, models on disk and live mode meet.
  serving: ['core', 'random', 'files', 'policies', 'workload', 'metrics', 'live', 'experiment', 'report'],
  doctor: ['core', 'live', 'experiment', 'report'],
  bottleneck: ['core', 'random', 'files', 'workload', 'metrics', 'live', 'experiment', 'report', 'serving'],
  top: ['core', 'live'],
  cli: [
    'audit',
    'core',
    'random',
    'files',
    'policies',
    'sim',
    'workload',
    'metrics',
    'live',
    'experiment',
    'report',
    'sweep',
    'planner',
    'serving',
    'doctor',
    'bottleneck',
    'top',
  ],
  bench: ['core', 'files', 'policies', 'sim', 'metrics', 'live', 'experiment', 'serving', 'cli'],
  // src/index.ts, the public door: command line and benchmarks are no part of the library.
  index: [
    'core',
    'random',
    'bounds',
    'policies',
    'sim',
    'workload',
    'metrics',
    'experiment',
    'report',
    'sweep',
    'planner',
  ],
};

/** Folders that are pure: time comes in as an argument, chance not at all, and nothing waits. */
const PURE = ['core', 'policies', 'bounds'];

/** Clocks, timers, chance, waiting and the outside world, by the name one reaches them with. */
const IMPURE_NAMES = new Set([
  ...['Date', 'performance', 'process', 'console', 'globalThis', 'crypto', 'fetch', 'Atomics', 'Intl'],
  ...['setTimeout', 'setInterval', 'setImmediate', 'queueMicrotask', 'Promise', 'require', 'WeakRef'],
]);

const MOST_LINES = 300;

const SOURCES = parseAll('src');
const TESTS = parseAll('test');

describe('import rules', () => {
  it('knows every folder of src', () => {
    expect([...new Set(SOURCES.map(folderOf))].sort()).toEqual(Object.keys(MAY_IMPORT).sort());
  });

  it('has no import upwards or sideways', () => {
    const wrong = SOURCES.flatMap((source) =>
      localImports(source)
        .map((to) => ({ from: folderOf(source), to: to.path.split('/')[1]?.replace(/\.ts$/, '') as string }))
        .filter(({ from, to }) => to !== from && !MAY_IMPORT[from]?.includes(to))
        .map(({ to }) => `${source.fileName} imports ${to}`),
    );
    expect(wrong).toEqual([]);
  });

  it('lets policies know nothing of each other', () => {
    const policyOf = (path: string) => /^src\/policies\/([^/]+)\//.exec(path)?.[1];
    const wrong = SOURCES.filter(({ fileName }) => policyOf(fileName) !== undefined).flatMap((source) =>
      localImports(source)
        .map(({ path }) => path)
        .filter(
          (path) =>
            policyOf(path) !== undefined &&
            policyOf(path) !== 'common' &&
            policyOf(path) !== policyOf(source.fileName),
        )
        .map((path) => `${source.fileName} imports ${path}`),
    );
    expect(wrong).toEqual([]);
  });

  it('names only files that exist, with their extension', () => {
    const known = new Set(SOURCES.map(({ fileName }) => fileName));
    const wrong = SOURCES.flatMap((source) =>
      localImports(source)
        .filter(({ path }) => !known.has(path))
        .map(({ path }) => `${source.fileName} imports ${path}`),
    );
    expect(wrong).toEqual([]);
  });

  // Types are gone when the program runs, so a cycle of `import type` does no harm.
  it('has no circular imports', () => {
    const graph = new Map(
      SOURCES.map((source) => [
        source.fileName,
        localImports(source)
          .filter(({ erased }) => !erased)
          .map(({ path }) => path),
      ]),
    );
    expect(findCycle(graph)).toEqual([]);
  });

  it('takes packages into the core by no door', () => {
    const wrong = SOURCES.filter((source) => [...PURE, 'random'].includes(folderOf(source))).flatMap(
      (source) =>
        importsOf(source)
          .filter(
            ({ name }) => !name.startsWith('.') && !(folderOf(source) === 'random' && name === 'seedrandom'),
          )
          .map(({ name }) => `${source.fileName} imports ${name}`),
    );
    expect(wrong).toEqual([]);
  });
});

describe('purity', () => {
  it('keeps clocks, timers, chance, waiting and I/O out of core and policies', () => {
    const pure = SOURCES.filter((source) => PURE.includes(folderOf(source)));
    expect(pure.length).toBeGreaterThan(0);
    expect(pure.flatMap(impurities)).toEqual([]);
  });

  it('draws no random number outside the seeded streams', () => {
    expect(SOURCES.flatMap((source) => find(source, isMathRandom))).toEqual([]);
  });

  // `Date.UTC` turns a written date into a number; everything else about dates asks what time it is.
  it('reads no wall clock', () => {
    const readsClock = (node: ts.Node) =>
      isValueName(node, 'Date') &&
      !(ts.isPropertyAccessExpression(node.parent) && node.parent.name.text === 'UTC');
    expect(SOURCES.flatMap((source) => find(source, readsClock))).toEqual([]);
  });

  it('finds what it looks for', () => {
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

describe('files', () => {
  it(`are at most ${MOST_LINES} lines long`, () => {
    const long = SOURCES.map(({ fileName, text }) => ({
      fileName,
      lines: text.trimEnd().split('\n').length,
    }));
    expect(long.filter(({ lines }) => lines > MOST_LINES)).toEqual([]);
  });

  it('hold no unfinished marks', () => {
    const mark = /\b(?:TODO|FIXME|XXX|HACK)\b/;
    // This file has to name them.
    const files = [...SOURCES, ...TESTS].filter(({ fileName }) => fileName !== 'test/tidy.test.ts');
    expect(files.filter(({ text }) => mark.test(text)).map(({ fileName }) => fileName)).toEqual([]);
  });
});

describe('tests', () => {
  it('are neither singled out nor switched off', () => {
    const off = (node: ts.Node) =>
      ts.isPropertyAccessExpression(node) &&
      ['only', 'skip', 'todo', 'fails'].includes(node.name.text) &&
      ts.isIdentifier(node.expression) &&
      ['describe', 'it', 'test', 'bench'].includes(node.expression.text);
    expect(TESTS.flatMap((source) => find(source, off))).toEqual([]);
  });

  it('say why when they skip themselves', () => {
    const silent = (node: ts.Node) =>
      ts.isCallExpression(node) &&
      (isValueName(node.expression, 'skip') ||
        (ts.isPropertyAccessExpression(node.expression) && node.expression.name.text === 'skip')) &&
      !node.arguments.some(
        (argument) => ts.isStringLiteralLike(argument) || ts.isTemplateExpression(argument),
      );
    expect(TESTS.flatMap((source) => find(source, silent))).toEqual([]);
  });
});

function parseAll(folder: string): ts.SourceFile[] {
  return readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.c?ts$/.test(name))
    .map((name) => join(folder, name))
    .sort()
    .map((path) => parse(path.split(sep).join('/'), readFileSync(join(ROOT, path), 'utf8')));
}

function parse(path: string, text: string): ts.SourceFile {
  return ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true);
}

/** Name of the folder below src; of a file that lies in src itself, the file's. */
function folderOf({ fileName }: ts.SourceFile): string {
  return (fileName.split('/')[1] as string).replace(/\.ts$/, '');
}

interface Import {
  readonly name: string;
  /** Only types, so that nothing is imported when the program runs. */
  readonly erased: boolean;
}

function importsOf(source: ts.SourceFile): Import[] {
  const imports: Import[] = [];
  walk(source, (node) => {
    if (
      (ts.isImportDeclaration(node) || ts.isExportDeclaration(node)) &&
      node.moduleSpecifier !== undefined
    ) {
      const erased = ts.isImportDeclaration(node)
        ? node.importClause?.phaseModifier === ts.SyntaxKind.TypeKeyword
        : node.isTypeOnly;
      imports.push({ name: (node.moduleSpecifier as ts.StringLiteral).text, erased });
    } else if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword) {
      imports.push({ name: (node.arguments[0] as ts.StringLiteral).text, erased: false });
    } else if (ts.isImportTypeNode(node)) {
      imports.push({ name: node.argument.getText().slice(1, -1), erased: true });
    }
  });
  return imports;
}

function localImports(source: ts.SourceFile): { path: string; erased: boolean }[] {
  return importsOf(source)
    .filter(({ name }) => name.startsWith('.'))
    .map(({ name, erased }) => {
      const path = relative('.', join(dirname(source.fileName), name))
        .split(sep)
        .join('/');
      return { path: path.replace(/js$/, 'ts'), erased };
    });
}

/** A cycle as the list of its files, empty if there is none. */
function findCycle(graph: ReadonlyMap<string, readonly string[]>): string[] {
  const done = new Set<string>();
  const visit = (file: string, trail: readonly string[]): string[] => {
    if (trail.includes(file)) return [...trail.slice(trail.indexOf(file)), file];
    if (done.has(file)) return [];
    for (const next of graph.get(file) ?? []) {
      const cycle = visit(next, [...trail, file]);
      if (cycle.length > 0) return cycle;
    }
    done.add(file);
    return [];
  };
  for (const file of graph.keys()) {
    const cycle = visit(file, []);
    if (cycle.length > 0) return cycle;
  }
  return [];
}

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

/** An identifier that stands for a value of that name: no property, no type, no declaration's own name. */
function isValueName(node: ts.Node, name: string): boolean {
  if (!ts.isIdentifier(node) || node.text !== name) return false;
  const { parent } = node;
  if (ts.isPropertyAccessExpression(parent) && parent.name === node) return false;
  if (ts.isTypeReferenceNode(parent) || ts.isPropertySignature(parent) || ts.isMethodSignature(parent))
    return false;
  return !('name' in parent && parent.name === node);
}

function isMathRandom(node: ts.Node): boolean {
  return (
    ts.isPropertyAccessExpression(node) &&
    node.name.text === 'random' &&
    ts.isIdentifier(node.expression) &&
    node.expression.text === 'Math'
  );
}

/** Where a source has such nodes, as `file:line: text`. */
function find(source: ts.SourceFile, wanted: (node: ts.Node) => boolean): string[] {
  const found: string[] = [];
  walk(source, (node) => {
    if (!wanted(node)) return;
    const { line } = source.getLineAndCharacterOfPosition(node.getStart());
    found.push(`${source.fileName}:${line + 1}: ${node.getText().split('\n')[0]}`);
  });
  return found;
}

function walk(node: ts.Node, visit: (node: ts.Node) => void): void {
  visit(node);
  ts.forEachChild(node, (child) => walk(child, visit));
}
