import type * as z from 'zod';
import { type ErrorCode, type ErrorPlace, EscapementError } from '../base/errors.js';
import { suggestion } from '../base/nearest.js';
import { TYPE_NAMES } from '../base/type-names.js';
import { isSection, type Path, shortPath, valueAt } from './document.js';
import { EMPTY, MISSING } from './fields.js';
import { kindsAt, ownKeys } from './schema-fields.js';
import { show } from './units-text.js';

/**
 * Checks `tree` against `schema` and returns the parsed result. Throws one EscapementError for the first mistake,
 * unknown keys first because they often explain the rest. `code` replaces the codes of configurations, for other kinds
 * of files. `placeOf`: where a part of the tree is written.
 */
export function validate<T extends z.ZodType>(
  schema: T,
  tree: unknown,
  placeOf: (path: Path) => ErrorPlace,
  code?: ErrorCode,
): z.output<T> {
  const result = schema.safeParse(tree, { error: describeIssue });
  if (result.success) return result.data;
  const issues = result.error.issues.flatMap(unfolded);
  const issue = issues.find((candidate) => candidate.code === 'unrecognized_keys') ?? issues[0]!;
  const path = issue.path as Path;
  if (issue.code === 'unrecognized_keys') {
    const [key] = issue.keys as [string];
    const what = unknownKey(schema, tree, path, key);
    throw new EscapementError(code ?? 'E_CONFIG_KEY', what, placeOf([...path, key]));
  }
  const own = issue.code === 'custom' ? (issue.params?.errorCode as ErrorCode | undefined) : undefined;
  const what = `${issue.message}${kindMeant(schema, tree, issue)}`;
  throw new EscapementError(code ?? own ?? 'E_CONFIG_VALUE', what, placeOf(path));
}

/** Hint on a key that a section does not have: the kinds of section that do, or the key that was probably meant. */
function unknownKey(schema: z.ZodType, tree: unknown, path: Path, key: string): string {
  const { name, all } = kindsAt(schema, tree, path);
  const owners = [...all].filter(([, keys]) => keys.includes(key)).map(([kind]) => kind);
  if (owners.length === 0)
    return `unknown key "${key}": ${suggestion(key, [...ownKeys(schema, tree, path)])}`;
  const section = shortPath(tree, path).join('.');
  const who = valueAt(tree, [...path, 'kind']) === undefined ? `${name}, the default,` : name;
  return (
    `${who} has no ${key}, a key of ${owners.join(' and ')}: remove it or choose ${section}.kind=${owners[0]}; ` +
    `to keep it in the file for other kinds, choose this one with --set ${section}.kind=${name}`
  );
}

/** Replacement for a plain value where a section of some kind belongs. */
function kindMeant(schema: z.ZodType, tree: unknown, { message, path: at }: z.core.$ZodIssue): string {
  const path = at as Path;
  const kinds = [...kindsAt(schema, tree, path).all.keys()];
  if (kinds.length === 0 || !message.startsWith('must be a section of keys, found')) return '';
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
  if (meant !== undefined) return meant.map((inner) => ({ ...inner, path: [...issue.path, ...inner.path] }));
  // `must be a whole number or a list, found "many"`, from the issues with each of the types.
  const [first, ...others] = issue.errors.map(([one]) =>
    /^must be (.*?)((?:, found .*)?)$/s.exec(one!.message),
  );
  if (first == null || others.includes(null)) return [{ ...issue, message: issue.errors[0]![0]!.message }];
  const types = new Set([first, ...others].map((match) => match![1]));
  return [{ ...issue, message: `must be ${[...types].join(' or ')}${first[2]}` }];
}

function describeIssue(issue: z.core.$ZodRawIssue): string | undefined {
  const { input } = issue;
  if (input === undefined) return MISSING;
  if (input === null) return EMPTY;
  switch (issue.code) {
    case 'invalid_type':
      return `must be ${TYPE_NAMES[issue.expected] ?? issue.expected}, found ${show(input)}${
        issue.expected === 'string' && typeof input !== 'object' ? ': put it in quotes' : ''
      }`;
    case 'invalid_value':
      return notOneOf(input, issue.values.map(String));
    case 'invalid_union':
      return notOneOf(
        isSection(input) ? input.kind : input,
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
  const advice = typeof value === 'string' ? suggestion(value, known) : '';
  const hint = advice.startsWith('did') ? `, ${advice}` : '';
  return `must be one of ${known.join(', ')}; found ${show(value)}${hint}`;
}
