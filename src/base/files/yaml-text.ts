import {
  type Document,
  isCollection,
  isPair,
  isScalar,
  LineCounter,
  parseDocument,
  stringify,
  visit,
} from 'yaml';
import type { EscapementError } from '../errors.js';

/** YAML 1.2 has no merge keys; as a plain key, `<<` would hide that the keys it should add are missing. */
const MERGE_KEY = 'merge keys (<<) are not supported: write out the keys that it would add';

/** Content of a YAML text, with nodes that know their position. */
interface YamlText {
  readonly document: Document;
  readonly lines: LineCounter;
  /** Plain values: text, numbers, booleans, null, lists and sections; keys are text, as written. */
  readonly value: unknown;
}

/**
 * Parses one YAML (or JSON) document into a finite tree of plain values. Throws the result of `fail` for a mistake and
 * its 1-based line: a syntax error, several documents, an unknown tag, a key that is a list or section, a merge key, a
 * circular alias, or aliases that expand excessively.
 */
export function readYaml(text: string, fail: (what: string, line?: number) => EscapementError): YamlText {
  const lines = new LineCounter();
  const failAt = (what: string, offset: number) => fail(what, lines.linePos(offset).line);
  let twice: string | undefined;
  const document = parseDocument(text, {
    ...{ lineCounter: lines, prettyErrors: false },
    // No tags beyond JSON, such as !!binary, whose values are not plain.
    resolveKnownTags: false,
    uniqueKeys(earlier, key) {
      if (!isScalar(earlier) || !isScalar(key) || earlier.value !== key.value) return false;
      twice ??= `the key ${key.source} is already in line ${lines.linePos(earlier.range![0]).line}`;
      return true;
    },
  });
  const [wrong] = [...document.errors, ...document.warnings];
  if (wrong !== undefined) {
    const several = wrong.code === 'MULTIPLE_DOCS';
    const what = several ? 'a second document begins here: write one' : inWords(wrong.message);
    throw failAt(wrong.code === 'DUPLICATE_KEY' && twice !== undefined ? twice : what, wrong.pos[0]);
  }
  visit(document, {
    Pair(_, { key }) {
      if (isCollection(key)) throw failAt('a key must be text, not a list or section', key.range![0]);
      if (isScalar(key) && key.type === 'PLAIN' && key.source === '<<')
        throw failAt(MERGE_KEY, key.range![0]);
      // A name such as 1.10, not a number.
      if (isScalar(key) && typeof key.value !== 'string') key.value = key.source ?? '';
    },
    Scalar(_, scalar) {
      // A name such as 0012, not twelve.
      if (typeof scalar.value === 'number' && /^0\d/.test(scalar.source ?? '')) scalar.value = scalar.source;
    },
    Alias(_, alias, path) {
      const target = alias.resolve(document);
      const around = path.filter((node) => !isPair(node));
      const [offset] = alias.range!;
      if (target === undefined) throw failAt(`no anchor &${alias.source} comes before this alias`, offset);
      if (around.some((node) => node === target))
        throw failAt(`the alias *${alias.source} is inside its own anchor`, offset);
    },
  });
  try {
    return { document, lines, value: document.toJS() };
  } catch {
    throw fail('the aliases expand to far too much: write the values out');
  }
}

/** First line of the parser's message; for excessive nesting, instead of its stack overflow, a plain reason. */
function inWords(message: string): string {
  if (message.startsWith('Maximum call stack')) return 'lists and sections are nested too deeply';
  const first = message.split('\n')[0]!;
  const unclosed = /^Flow (sequence|map) in block collection must be sufficiently indented/.exec(first);
  if (unclosed === null) return first;
  const [begin, end] = unclosed[1] === 'map' ? '{}' : '[]';
  return `a ${begin} above is not closed: write the missing ${end}, or indent the lines up to it`;
}

/** Value as YAML, with no line broken. */
export function writeYaml(value: unknown): string {
  return stringify(value, { lineWidth: 0 });
}
