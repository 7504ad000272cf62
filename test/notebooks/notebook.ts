import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import ts from 'typescript';
import { ROOT } from '../snippets.js';

export const NOTEBOOKS = join(ROOT, 'notebooks');

/** What a cell shows: text that it printed, or pictures and Markdown by MIME type. */
export interface Output {
  readonly output_type: string;
  readonly name?: string;
  readonly text?: string | string[];
  readonly data?: Readonly<Record<string, string | string[]>>;
}

export interface Cell {
  readonly cell_type: string;
  readonly source: string | string[];
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly execution_count?: number | null;
  readonly outputs?: readonly Output[];
}

interface Notebook {
  readonly cells: readonly Cell[];
  readonly metadata: { readonly kernelspec: { readonly language: string } };
}

/** Names of the notebooks, or of those in one language. */
export function notebookFiles(language?: string): string[] {
  const isWanted = (name: string) =>
    language === undefined || read(join(NOTEBOOKS, name)).metadata.kernelspec.language === language;
  return readdirSync(NOTEBOOKS).filter((name) => name.endsWith('.ipynb') && isWanted(name));
}

/** The cells that have code. */
export function readCells(path: string): Cell[] {
  return read(path).cells.filter(({ cell_type: type }) => type === 'code');
}

function read(path: string): Notebook {
  return JSON.parse(readFileSync(path, 'utf8'));
}

/** Text of a field that notebooks write as a string or as a list of lines. */
export function textOf(text: string | string[] | undefined): string {
  return Array.isArray(text) ? text.join('') : (text ?? '');
}

/** What the notebooks use of the Deno kernel, for the type checker. */
const KERNEL_TYPES = `declare namespace Deno {
  interface Shown { readonly data: Record<string, string> }
  const jupyter: {
    md(strings: TemplateStringsArray, ...values: unknown[]): Shown;
    image(bytes: Uint8Array): Shown;
    display(shown: Shown): Promise<void>;
  };
}
declare function __show(value: unknown): void;
declare function __begin(): void;
`;

/** The same as it behaves: everything shown or printed goes into one list a cell. */
const KERNEL = `
const __cells = [];
globalThis.__begin = () => __cells.push([]);
globalThis.__add = (output) => { __cells[__cells.length - 1].push(output); };
globalThis.__show = (value) => {
  if (value !== undefined) __add({ output_type: 'execute_result', data: value.data ?? { 'text/plain': String(value) } });
};
globalThis.Deno = { jupyter: {
  md: (strings, ...values) => ({ data: { 'text/markdown': String.raw({ raw: strings }, ...values) } }),
  image: (bytes) => ({ data: { 'image/png': Buffer.from(bytes).toString('base64') } }),
  display: async ({ data }) => __add({ output_type: 'display_data', data }),
} };
console.log = (...parts) => __add({ output_type: 'stream', name: 'stdout', text: parts.join(' ') + '\\n' });
process.once('beforeExit', () => process.stdout.write(JSON.stringify(__cells)));
`;

/** The cells as one module that can be type-checked. */
export function checkable(cells: readonly Cell[]): string {
  return KERNEL_TYPES + joined(cells);
}

/** The cells as one module that runs in Node and prints a list of outputs for each cell, as JSON. */
export function runnable(cells: readonly Cell[]): string {
  return KERNEL + joined(cells);
}

function joined(cells: readonly Cell[]): string {
  return cells.map(({ source }) => `__begin();\n${showLast(textOf(source))}\n`).join('');
}

/** A kernel shows the value of the expression that ends a cell. */
function showLast(code: string): string {
  const source = ts.createSourceFile('cell.ts', code, ts.ScriptTarget.Latest, true);
  const last = source.statements.at(-1);
  if (last === undefined || !ts.isExpressionStatement(last)) return code;
  const shown = last.expression.getText();
  return `${code.slice(0, last.getStart())}__show(${shown});${code.slice(last.getEnd())}`;
}

/** A program that runs cells. */
interface Kernel {
  readonly name: string;
  readonly language: string;
  readonly argv: readonly string[];
}

export const DENO: Kernel = {
  name: 'deno',
  language: 'typescript',
  argv: ['deno', 'jupyter', '--kernel', '--conn', '{connection_file}'],
};

/** IPython, in the Python at a path. */
export function ipython(python: string): Kernel {
  const argv = [python, '-m', 'ipykernel_launcher', '-f', '{connection_file}'];
  return { name: 'python3', language: 'python', argv };
}

/** Says which of these programs is not installed; the empty string if all are. */
export function whatIsMissing(...programs: string[]): string {
  const missing = programs.find((program) => spawnSync(program, ['--version']).status !== 0);
  return missing === undefined ? '' : `${missing} is not installed`;
}

/** Executes a notebook as Jupyter does, and returns the path of the executed copy in `dir`. */
export function executeInJupyter(path: string, dir: string, { name, ...spec }: Kernel): string {
  const kernel = join(dir, 'kernels', name);
  mkdirSync(kernel, { recursive: true });
  writeFileSync(join(kernel, 'kernel.json'), JSON.stringify({ ...spec, display_name: name }));
  const { status, stderr } = spawnSync(
    'jupyter-nbconvert',
    [
      ...['--to', 'notebook', '--execute', '--ExecutePreprocessor.record_timing=False'],
      ...['--output-dir', dir, '--output', 'executed.ipynb', path],
    ],
    {
      encoding: 'utf8',
      env: { ...process.env, JUPYTER_PATH: [dir, process.env.JUPYTER_PATH ?? ''].join(delimiter) },
    },
  );
  if (status !== 0) throw new Error(`nbconvert failed:\n${stderr}`);
  return join(dir, 'executed.ipynb');
}

/** What a cell shows, as far as it is the same on every machine. */
export function comparableOutputs(cell: Cell) {
  return outputsOf(cell).map(comparable);
}

export function outputsOf(cell: Cell): readonly Output[] {
  return cell.outputs ?? [];
}

/** Texts as they are. Of a picture its size: the last bits of its pixels may depend on the machine. */
export function comparable({ output_type: type, data = {}, text }: Output) {
  const shown = Object.entries(data).map(([mime, content]) => [
    mime,
    mime === 'image/png' ? pngSize(textOf(content)) : textOf(content),
  ]);
  return { type, text: textOf(text), shown };
}

/** Width and height from the header of a PNG in base64. */
function pngSize(base64: string): [number, number] {
  const bytes = Buffer.from(base64, 'base64');
  if (bytes.toString('latin1', 1, 4) !== 'PNG') throw new Error('a picture is no PNG');
  return [bytes.readUInt32BE(16), bytes.readUInt32BE(20)];
}
