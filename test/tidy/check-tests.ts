import ts from 'typescript';
import { describe, expect, it } from 'vitest';
import { find, isValueName, parse, TESTS } from './sources.js';

describe('tests', () => {
  it('are neither singled out nor switched off', () => {
    const off = (node: ts.Node) =>
      ts.isPropertyAccessExpression(node) &&
      ['only', 'skip', 'todo', 'fails'].includes(node.name.text) &&
      ts.isIdentifier(node.expression) &&
      ['describe', 'it', 'test', 'bench'].includes(node.expression.text);
    expect(TESTS.flatMap((source) => find(source, off))).toEqual([]);
  });

  it('call their matchers, and wait for what they expect of promises', () => {
    const statements = TESTS.flatMap((source) => find(source, isIdleExpectation));
    expect(statements).toEqual([]);
    const wrong = [
      'expect(1);',
      'expect(1).toBe;',
      'expect(p).resolves.toBe(1);',
      'void expect(p).rejects.toBe(1);',
    ];
    const right = ['expect(1).toBe(1);', 'await expect(p).resolves.toBe(1);', 'expect.hasAssertions();'];
    const found = [...wrong, ...right].flatMap((text) => find(parse('a.ts', text), isIdleExpectation));
    expect(found).toEqual(wrong.map((text) => `a.ts:1: ${text}`));
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

/** A statement that begins with `expect(…)` and asserts nothing, or too late. */
function isIdleExpectation(node: ts.Node): boolean {
  if (!ts.isExpressionStatement(node)) return false;
  const statement = ts.isVoidExpression(node.expression) ? node.expression.expression : node.expression;
  const isAwaited = ts.isAwaitExpression(statement);
  const expression = isAwaited ? statement.expression : statement;
  const names: string[] = [];
  let root: ts.Expression = expression;
  while (
    ts.isPropertyAccessExpression(root) ||
    (ts.isCallExpression(root) && !ts.isIdentifier(root.expression))
  ) {
    if (ts.isPropertyAccessExpression(root)) names.push(root.name.text);
    root = root.expression;
  }
  if (!ts.isCallExpression(root) || root.expression.getText() !== 'expect') return false;
  const isPromise = names.includes('resolves') || names.includes('rejects');
  return !ts.isCallExpression(expression) || expression === root || (isPromise && !isAwaited);
}
