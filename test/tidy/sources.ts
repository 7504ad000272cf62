import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';

export const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** All TypeScript of `src` and of `test`, parsed. Paths are relative to the repository, with forward slashes. */
export const SOURCES = parseAll('src');
export const TESTS = parseAll('test');

/** All files that git knows, also those deleted and not yet committed. */
export function trackedFiles(): string[] {
  const names = execFileSync('git', ['ls-files', '-z'], { cwd: ROOT, encoding: 'utf8' });
  return names.split('\0').filter((name) => name !== '');
}

function parseAll(folder: string): ts.SourceFile[] {
  return readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.(?:c?ts|tsx)$/.test(name))
    .map((name) => join(folder, name))
    .sort()
    .map((path) => parse(path.split(sep).join('/'), readFileSync(join(ROOT, path), 'utf8')));
}

export function parse(path: string, text: string): ts.SourceFile {
  return ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true);
}

interface Import {
  readonly name: string;
  /** Only types, so that nothing is imported when the program runs. */
  readonly erased: boolean;
}

export function importsOf(source: ts.SourceFile): Import[] {
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
      const [name] = node.arguments;
      if (name !== undefined && ts.isStringLiteralLike(name))
        imports.push({ name: name.text, erased: false });
    } else if (ts.isImportTypeNode(node)) {
      imports.push({ name: node.argument.getText().slice(1, -1), erased: true });
    }
  });
  return imports;
}

/** The source that a relative import of `fileName` names. */
export function resolveImport(fileName: string, name: string): string {
  const path = relative('.', join(dirname(fileName), name))
    .split(sep)
    .join('/');
  return path.replace(/js(x?)$/, 'ts$1');
}

/** Where a source has such nodes, as `file:line: text`. */
export function find(source: ts.SourceFile, wanted: (node: ts.Node) => boolean): string[] {
  const found: string[] = [];
  walk(source, (node) => {
    if (wanted(node)) found.push(`${source.fileName}:${lineOf(node)}: ${node.getText().split('\n')[0]}`);
  });
  return found;
}

export function lineOf(node: ts.Node): number {
  return node.getSourceFile().getLineAndCharacterOfPosition(node.getStart()).line + 1;
}

export function walk(node: ts.Node, visit: (node: ts.Node) => void): void {
  visit(node);
  ts.forEachChild(node, (child) => walk(child, visit));
}

/** An identifier that names a value: no property, no type, no declaration's own name. */
export function isValueName(node: ts.Node, name: string): boolean {
  if (!ts.isIdentifier(node) || node.text !== name) return false;
  const { parent } = node;
  if (ts.isPropertyAccessExpression(parent) && parent.name === node) return false;
  if (ts.isTypeReferenceNode(parent) || ts.isPropertySignature(parent) || ts.isMethodSignature(parent))
    return false;
  return !('name' in parent && parent.name === node);
}
