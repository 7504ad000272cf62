import ts from 'typescript';
import { lineOf, resolveImport, walk } from './sources.js';

/**
 * Exports of `sources` that none of `users` imports, as `file:line: name`. A public door exports for others, and what a
 * library loads by its path exports by the library's rules.
 */
export function unusedExports(
  sources: readonly ts.SourceFile[],
  users: readonly ts.SourceFile[],
  isPublic: (path: string) => boolean,
): string[] {
  const used = new Set(users.flatMap(usesOf));
  return sources
    .filter(({ fileName }) => !isPublic(fileName) && !used.has(`${fileName} *`))
    .flatMap((source) =>
      exportsOf(source)
        .filter(({ name }) => !used.has(`${source.fileName} ${name}`))
        .map(({ name, node }) => `${source.fileName}:${lineOf(node)}: ${name}`),
    );
}

function exportsOf(source: ts.SourceFile): { name: string; node: ts.Node }[] {
  return source.statements.flatMap((node) => {
    if (ts.isExportAssignment(node)) return [{ name: 'default', node }];
    if (ts.isExportDeclaration(node))
      return node.exportClause === undefined || !ts.isNamedExports(node.exportClause)
        ? []
        : node.exportClause.elements.map(({ name }) => ({ name: name.text, node }));
    const modifiers = ts.canHaveModifiers(node) ? (ts.getModifiers(node) ?? []) : [];
    if (!modifiers.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword)) return [];
    if (modifiers.some(({ kind }) => kind === ts.SyntaxKind.DefaultKeyword))
      return [{ name: 'default', node }];
    return declaredNames(node).map((name) => ({ name, node }));
  });
}

function declaredNames(node: ts.Statement): string[] {
  if (ts.isVariableStatement(node))
    return node.declarationList.declarations.flatMap(({ name }) => boundNames(name));
  return 'name' in node && ts.isIdentifier(node.name as ts.Node) ? [(node.name as ts.Identifier).text] : [];
}

/** What a source imports of ours: `src/a.ts name`, or `src/a.ts *` where it may take anything. */
function usesOf(source: ts.SourceFile): string[] {
  const uses: string[] = [];
  const add = (module: ts.Node | undefined, names: readonly string[]) => {
    if (module === undefined || !ts.isStringLiteralLike(module) || !module.text.startsWith('.')) return;
    const path = resolveImport(source.fileName, module.text);
    uses.push(...names.map((name) => `${path} ${name}`));
  };
  walk(source, (node) => {
    if (ts.isImportDeclaration(node)) add(node.moduleSpecifier, importedNames(node.importClause));
    else if (ts.isExportDeclaration(node)) add(node.moduleSpecifier, specifierNames(node.exportClause));
    else if (ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument))
      add(node.argument.literal, [node.qualifier?.getText() ?? '*']);
    else if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword)
      add(node.arguments[0], takenNames(node));
  });
  return uses;
}

function importedNames(clause: ts.ImportClause | undefined): string[] {
  if (clause === undefined) return [];
  return [...(clause.name === undefined ? [] : ['default']), ...specifierNames(clause.namedBindings, [])];
}

function specifierNames(
  clause: ts.NamedImportBindings | ts.NamedExportBindings | undefined,
  otherwise: readonly string[] = ['*'],
): readonly string[] {
  if (clause === undefined) return otherwise;
  if (!ts.isNamedImports(clause) && !ts.isNamedExports(clause)) return ['*'];
  return clause.elements.map(({ propertyName, name }) => (propertyName ?? name).text);
}

/** `const { a } = await import(…)` and `(await import(…)).a` take `a`; any other use may take anything. */
function takenNames(call: ts.CallExpression): string[] {
  let node: ts.Node = call;
  while (ts.isAwaitExpression(node.parent) || ts.isParenthesizedExpression(node.parent)) node = node.parent;
  const { parent } = node;
  if (ts.isPropertyAccessExpression(parent)) return [parent.name.text];
  return ts.isVariableDeclaration(parent) && ts.isObjectBindingPattern(parent.name)
    ? parent.name.elements.map(({ propertyName, name }) => (propertyName ?? name).getText())
    : ['*'];
}

function boundNames(name: ts.BindingName): string[] {
  if (ts.isIdentifier(name)) return [name.text];
  return name.elements.flatMap((element) => (ts.isBindingElement(element) ? boundNames(element.name) : []));
}
