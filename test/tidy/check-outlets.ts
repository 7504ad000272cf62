import ts from 'typescript';
import { expect, it } from 'vitest';
import { find, importsOf, isValueName, parse, SOURCES } from './sources.js';

/** What may be asked of a stream; writing is for `writeOut` and `writeErr`, which clean the text. */
const ASKED = new Set(['isTTY', 'columns', 'on']);

/** Files that need the stream itself. */
const STREAMS = new Set([
  'src/text/terminal.ts',
  // Draws a bar; the texts in it are cleaned.
  'src/cli/progress.ts',
  // Takes the whole screen; its lines are cleaned.
  'src/cli/commands/top.ts',
  // The answer of a child process, which only its parent reads.
  'src/tools/doctor/runtime/probe-process.ts',
]);

/** A package that makes text of others into a file that programs run or draw, and the files that may call it. */
const MAKERS: readonly (readonly [maker: string, call: string, files: readonly string[]])[] = [
  // Traces are read back, so their names stay as they are.
  ['papaparse', 'unparse', ['src/base/files/csv-text.ts', 'src/text/csv.ts']],
  ['vega-lite', 'compile', ['src/report/html/render.ts']],
];

/** Web pages have a console and a document of their own. */
const programs = SOURCES.filter(({ fileName }) => !fileName.startsWith('src/play/'));

it('everything that is printed goes through the outlet that cleans it', () => {
  const found = programs.filter(({ fileName }) => !STREAMS.has(fileName)).flatMap(printing);
  expect(found).toEqual([]);
  const dodges =
    'process.stdout.write(a); const { stderr } = process; console.log(a); const out = process.stdout; process.stdout.isTTY;';
  expect(printing(parse('src/cli/bad.ts', dodges))).toHaveLength(4);
});

it.each(MAKERS)('%s makes text only where it is cleaned', (maker, call, files) => {
  const calls = (source: ts.SourceFile) =>
    importsOf(source).some(({ name, erased }) => name === maker && !erased) &&
    find(source, (node) => ts.isIdentifier(node) && node.text === call).length > 0;
  expect(SOURCES.filter(calls).map(({ fileName }) => fileName)).toEqual(files);
});

/** What opens a file to read it. */
const OPENERS = new Set(['createReadStream', 'readFileSync', 'readFile']);

/** Rooms that read only what the program wrote itself, its own files, and files of a repository, which are checked first. */
const OWN_FILES = [
  'src/live/',
  'src/tools/',
  'src/base/limits/',
  'src/report/html/',
  'src/cli/version.ts',
  'src/run/queue/sweep-worker.ts',
];

it('input files are opened where a named pipe is refused', () => {
  const unchecked = (source: ts.SourceFile) =>
    find(
      source,
      (node) =>
        ts.isCallExpression(node) &&
        ts.isIdentifier(node.expression) &&
        OPENERS.has(node.expression.text) &&
        !(ts.isCallExpression(node.arguments[0]!) && node.arguments[0].expression.getText() === 'inputPath'),
    );
  const others = programs.filter(({ fileName }) => !OWN_FILES.some((own) => fileName.startsWith(own)));
  expect(others.flatMap(unchecked)).toEqual([]);
  expect(unchecked(parse('src/cli/bad.ts', 'readFileSync(path)'))).toHaveLength(1);
});

function printing(source: ts.SourceFile): string[] {
  return find(source, (node) => {
    if (isValueName(node, 'console')) return true;
    if (!isValueName(node, 'process')) return false;
    const { parent } = node;
    // `const { stdout } = process`
    if (ts.isVariableDeclaration(parent) && ts.isObjectBindingPattern(parent.name))
      return parent.name.elements.some(({ name, propertyName }) => isStream(propertyName ?? name));
    if (!ts.isPropertyAccessExpression(parent) || !isStream(parent.name)) return false;
    const { parent: around } = parent;
    // `const { isTTY } = process.stderr`
    if (ts.isVariableDeclaration(around) && ts.isObjectBindingPattern(around.name))
      return !around.name.elements.every(({ name }) => ASKED.has(name.getText()));
    return !ts.isPropertyAccessExpression(around) || !ASKED.has(around.name.text);
  });
}

function isStream(name: ts.Node): boolean {
  return ['stdout', 'stderr'].includes(name.getText());
}
