import type * as z from 'zod';
import { type ErrorCode, type ErrorPlace, EscapementError } from '../base/errors.js';
import { suggestion } from '../base/nearest.js';
import { TYPE_NAMES } from '../base/type-names.js';
import { type Path, shortPath, valueAt } from './document.js';
import { EMPTY, MISSING } from './fields.js';
import { type Kinds, kindsAt, spotAt } from './schema-walk.js';
import { show } from './units-text.js';

/** Places and original texts of the parts of a tree. */
interface WrittenTree {
  placeOf(path: Path): ErrorPlace;
  /** A number, a boolean or null as written. */
  writtenAt?(path: Path): string | undefined;
}

/**
 * Checks `tree` against `schema` and returns the parsed result. Throws one EscapementError for the first mistake,
 * unknown keys first because they often explain the rest. `code` replaces the codes of configurations, for other kinds
 * of files. A number, boolean or null where text is required becomes its text as written: a name such as 1.10.
 */
export function validate<T extends z.ZodType>(
  schema: T,
  tree: unknown,
  written: WrittenTree,
  code?: ErrorCode,
): z.output<T> {
  const { placeOf, writtenAt = () => undefined } = written;
  const result = schema.safeParse(tree, { error: describeIssue });
  if (result.success) return result.data;
  const texts = result.error.issues.flatMap(wantsText).flatMap((path): [Path, string][] => {
    const text = writtenAt(path);
    return text === undefined || typeof valueAt(tree, path) === 'string' ? [] : [[path, text]];
  });
  if (texts.length > 0)
    return validate(
      schema,
      texts.reduce((changed, [path, text]) => withText(changed, shortPath(tree, path), text), tree),
      ...([written, code] as const),
    );
  const issues = result.error.issues.flatMap(unfolded);
  const issue = issues.find((candidate) => candidate.code === 'unrecognized_keys') ?? issues[0]!;
  const path = issue.path as Path;
  if (issue.code === 'unrecognized_keys') {
    const [key] = issue.keys as [string];
    throw new EscapementError(
      code ?? 'E_CONFIG_KEY',
      unknownKey(schema, tree, path, key),
      placeOf([...path, key]),
    );
  }
  throw new EscapementError(
    code ?? codeOf(issue),
    `${issue.message}${kindMeant(schema, tree, issue, path)}`,
    placeOf(path),
  );
}

/** Hint on a key that a section does not have: the kinds of section that do, or the key that was probably meant. */
function unknownKey(schema: z.ZodType, tree: unknown, path: Path, key: string): string {
  const spot = spotAt(schema, tree, path);
  const { own, all, name } = spot === undefined ? NO_KINDS : kindsAt(spot);
  const owners = [...all].filter(([, { shape }]) => Object.hasOwn(shape, key)).map(([kind]) => kind);
  if (owners.length === 0) return `unknown key "${key}": ${suggestion(key, Object.keys(own?.shape ?? {}))}`;
  const section = shortPath(tree, path).join('.');
  const who = valueAt(tree, [...path, 'kind']) === undefined ? `${name}, the default,` : name;
  return (
    `${who} has no ${key}, a key of ${owners.join(' and ')}: remove it or choose ${section}.kind=${owners[0]}; ` +
    `to keep it in the file for other kinds, choose this one with --set ${section}.kind=${name}`
  );
}

const NO_KINDS: Kinds = { own: undefined, all: new Map(), name: undefined };

/** Paths where a text is expected and something else was found. */
function wantsText(issue: z.core.$ZodIssue): Path[] {
  if (issue.code === 'invalid_type') return issue.expected === 'string' ? [issue.path as Path] : [];
  if (issue.code !== 'invalid_union') return [];
  return issue.errors
    .flat()
    .flatMap(wantsText)
    .map((path) => [...(issue.path as Path), ...path]);
}

function withText(tree: unknown, [part, ...rest]: Path, text: string): unknown {
  if (part === undefined) return text;
  const copy = (Array.isArray(tree) ? [...tree] : { ...(tree as object) }) as Record<
    string | number,
    unknown
  >;
  copy[part] = withText(copy[part], rest, text);
  return copy;
}

/** Replacement for a plain value where a section of some kind belongs. */
function kindMeant(schema: z.ZodType, tree: unknown, { message }: z.core.$ZodIssue, path: Path): string {
  const spot = spotAt(schema, tree, path);
  if (spot === undefined || !message.startsWith('must be a section of keys, found')) return '';
  const kinds = [...kindsAt(spot).all.keys()];
  if (kinds.length === 0) return '';
  const key = shortPath(tree, path).join('.');
  if (kinds.includes(String(valueAt(tree, path)))) return `: did you mean ${key}.kind?`;
  return `: write a kind (${kinds.join(', ')}) and its keys, see escapement keys ${key}`;
}

/** Issues of a value that fits none of several types: those of the type that it resembles. */
function unfolded(issue: z.core.$ZodIssue): readonly z.core.$ZodIssue[] {
  if (issue.code !== 'invalid_union' || issue.errors.length === 0) return [issue];
  const isLike = ([first]: readonly z.core.$ZodIssue[]) =>
    first?.code !== 'invalid_type' || first.path.length > 0;
  const meant = issue.errors.find(isLike);
  if (meant === undefined)
    return [{ ...issue, message: anyOf(issue.errors.map(([first]) => first!.message)) }];
  return meant.map((inner) => ({ ...inner, path: [...issue.path, ...inner.path] }));
}

/** `must be a whole number or a list, found "many"`, from the issues with each of a value's types. */
function anyOf(messages: readonly string[]): string {
  const [first] = messages as [string];
  const types = messages.map((message) => /^must be (.*?)(?=, found |$)/.exec(message)?.[1]);
  if (types.includes(undefined)) return first;
  const found = first.slice('must be '.length + types[0]!.length);
  return `must be ${[...new Set(types)].join(' or ')}${found}`;
}

function codeOf(issue: z.core.$ZodIssue): ErrorCode {
  if (issue.code === 'custom') return (issue.params?.errorCode as ErrorCode | undefined) ?? 'E_CONFIG_VALUE';
  return 'E_CONFIG_VALUE';
}

function describeIssue(issue: z.core.$ZodRawIssue): string | undefined {
  const { input } = issue;
  if (input === undefined) return MISSING;
  if (input === null) return EMPTY;
  switch (issue.code) {
    case 'invalid_type':
      return `must be ${TYPE_NAMES[issue.expected] ?? issue.expected}, found ${show(input)}`;
    case 'invalid_value':
      return notOneOf(input, issue.values.map(String));
    case 'invalid_union':
      return notOneOf(
        isKindHolder(input) ? input.kind : input,
        ((issue.options ?? []) as unknown[]).map(String),
      );
    case 'too_small':
      if (issue.origin === 'array') return 'is an empty list: write at least one item';
      if (issue.origin !== 'number') return EMPTY;
      return `must be ${issue.inclusive === false ? 'above' : 'at least'} ${issue.minimum}, found ${show(input)}`;
    case 'too_big':
      if (typeof input === 'string')
        return `must have at most ${issue.maximum} characters, found ${input.length}`;
      if (Array.isArray(input)) return `must have at most ${issue.maximum} items, found ${input.length}`;
      return `must be at most ${issue.maximum}, found ${show(input)}`;
    default:
      return undefined;
  }
}

function notOneOf(value: unknown, known: readonly string[]): string {
  if (value === undefined) return `${MISSING}: one of ${known.join(', ')}`;
  return `must be one of ${known.join(', ')}; found ${show(value)}${hint(value, known)}`;
}

function hint(value: unknown, known: readonly string[]): string {
  if (typeof value !== 'string') return '';
  const advice = suggestion(value, known);
  return advice.startsWith('did') ? `, ${advice}` : '';
}

function isKindHolder(input: unknown): input is { kind?: unknown } {
  return typeof input === 'object' && input !== null && !Array.isArray(input);
}
