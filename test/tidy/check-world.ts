import ts from 'typescript';
import { describe, expect, it } from 'vitest';
import { find, isValueName, parse, SOURCES } from './sources.js';

/**
 * What also runs in a simulated world, which is the same each time: it takes time, threads, files, the network and names from
 * the `World` that it is given. A folder ends in a slash.
 */
const SIMULATED = [
  ...[
    'src/base/world/',
    'src/base/files/growing-file.ts',
    'src/live/world/',
    'src/live/wire/',
    'src/live/journal/',
  ],
  ...['src/live/controller/', 'src/live/worker/', 'src/live/frontend/thread/'],
  ...['backoff', 'observe/event-log', 'pulse', 'transfer', 'within'].map((name) => `src/live/${name}.ts`),
  'src/serve/',
];

/** Of these, what is the real world. */
const REAL = [
  // Time, threads, the network and names.
  ...['src/base/world/real-time.ts', 'src/live/world/real-world.ts'],
  ...['real-network', 'guarded-port', 'guarded-server'].map((name) => `src/live/wire/${name}.ts`),
  // Threads that wait.
  'src/live/transfer.ts',
  // Sockets of clients.
  'src/live/frontend/thread/frontend-thread.ts',
  // A journal that lies on disk.
  'src/live/journal/replay.ts',
  // Devices that execute models.
  ...['host-thread', 'model-host', 'executor'].map((name) => `src/live/worker/executor/${name}.ts`),
  // Models that lie on disk.
  ...['profiles', 'repository-source'].map((name) => `src/serve/${name}.ts`),
];

/** By value: what a program gets from Node without asking its world. */
const WORLDLY_NAMES = [
  ...[
    'setTimeout',
    'setInterval',
    'setImmediate',
    'performance',
    'monotonicNs',
    'unixMs',
    'randomUUID',
    'randomBytes',
  ],
  ...['AbortSignal', 'fetch', 'Date'],
];
const WORLDLY_MEMBERS = new Set(['hrtime', 'nextTick']);
const WORLDLY_MODULES = /^node:(fs|dns|timers)(\/promises)?$/;

const simulated = SOURCES.filter(({ fileName }) =>
  SIMULATED.some((path) => (path.endsWith('/') ? fileName.startsWith(path) : fileName === path)),
);

describe('what runs in a simulated world', () => {
  it('takes time, threads, files and names from the world that it is given', () => {
    expect(SIMULATED.filter((path) => !simulated.some(({ fileName }) => fileName.startsWith(path)))).toEqual(
      [],
    );
    const worldly = simulated.filter(({ fileName }) => !REAL.includes(fileName)).flatMap(worldlinessOf);
    expect(worldly).toEqual([]);
  });

  it('is told apart from the real world, where it needs to be', () => {
    const real = simulated.filter((source) => worldlinessOf(source).length > 0);
    expect(real.map(({ fileName }) => fileName)).toEqual([...REAL].sort());
  });

  it('is found out', () => {
    const code = `
      import { Worker as Thread, type MessagePort } from 'node:worker_threads';
      import { statSync } from 'node:fs';
      import type { Stats } from 'node:fs';
      setTimeout(() => process.hrtime.bigint() + time.monotonicNs(), 1);
      await import('node:timers/promises');
      monotonicNs();
    `;
    expect(worldlinessOf(parse('src/live/bad.ts', code))).toEqual([
      'src/live/bad.ts:2: Worker as Thread',
      "src/live/bad.ts:3: 'node:fs'",
      'src/live/bad.ts:5: setTimeout',
      'src/live/bad.ts:5: process.hrtime',
      "src/live/bad.ts:6: 'node:timers/promises'",
      'src/live/bad.ts:7: monotonicNs',
    ]);
  });
});

function worldlinessOf(source: ts.SourceFile): string[] {
  return find(
    source,
    (node) =>
      isWorker(node) ||
      (ts.isStringLiteral(node) && WORLDLY_MODULES.test(node.text) && !isErased(node.parent)) ||
      (ts.isPropertyAccessExpression(node) && WORLDLY_MEMBERS.has(node.name.text)) ||
      WORLDLY_NAMES.some((name) => isValueName(node, name)),
  );
}

function isErased(node: ts.Node): boolean {
  return ts.isImportDeclaration(node) && node.importClause?.phaseModifier === ts.SyntaxKind.TypeKeyword;
}

/** An import of what starts a thread. */
function isWorker(node: ts.Node): boolean {
  if (!ts.isImportSpecifier(node) || (node.propertyName ?? node.name).text !== 'Worker') return false;
  const declaration = node.parent.parent.parent;
  return (
    !node.isTypeOnly &&
    !isErased(declaration) &&
    ts.isStringLiteral(declaration.moduleSpecifier) &&
    declaration.moduleSpecifier.text === 'node:worker_threads'
  );
}
