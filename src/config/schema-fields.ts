import * as z from 'zod';
import { type Path, valueAt } from './document.js';

/** A key of a schema. */
export interface Field {
  /** Keys from the root, without indexes of lists; `*`: any name. */
  readonly path: readonly string[];
  readonly schema: z.ZodType;
  /** True if a section without it is rejected. */
  readonly required: boolean;
  /** Kinds of the sections around it, from the root on. */
  readonly kinds: readonly Kind[];
}

interface Kind {
  /** Number of keys from the root to the section. */
  readonly depth: number;
  readonly name: string;
  /** True if a section that names no kind is of this one. */
  readonly isDefault: boolean;
}

/** Every key of a schema in order, once for each kind of section that has it. */
export function fieldsOf(schema: z.ZodType): readonly Field[] {
  const fields = known.get(schema) ?? [...walk(schema, [], [])];
  known.set(schema, fields);
  return fields;
}

const known = new WeakMap<z.ZodType, readonly Field[]>();

/** Keys at or below a path, of any kind. */
export function fieldsBelow(schema: z.ZodType, path: Path): Field[] {
  const names = namesOf(path);
  return fieldsOf(schema).filter(
    (field) => field.path.length >= names.length && names.every((name, i) => isNamed(field.path[i]!, name)),
  );
}

/** True if the sections of a tree at and around `path` are of the kinds that have the field. */
export function applies({ kinds }: Field, tree: unknown, path: Path): boolean {
  const { length } = namesOf(path);
  return kinds.every(({ depth, name, isDefault }) => {
    if (depth > length) return true;
    const kind = valueAt(tree, [...sectionAt(path, depth), 'kind']);
    return kind === undefined ? isDefault : String(kind) === name;
  });
}

/** Keys of the section at `path`, given the kinds of sections in the tree; empty for an unknown kind. */
export function ownKeys(schema: z.ZodType, tree: unknown, path: Path): Set<string> {
  const fields = fieldsBelow(schema, path).filter((field) => applies(field, tree, path));
  return new Set(fields.flatMap((field) => field.path[namesOf(path).length] ?? []));
}

/** Kind of the section at `path`, named or by default, and the keys of all that it may have; empty if it has no kinds. */
export function kindsAt(
  schema: z.ZodType,
  tree: unknown,
  path: Path,
): { readonly name: string | undefined; readonly all: ReadonlyMap<string, ReadonlySet<string>> } {
  const depth = namesOf(path).length;
  const all = new Map<string, Set<string>>();
  let name = valueAt(tree, [...path, 'kind']);
  for (const field of fieldsBelow(schema, path)) {
    const kind = field.kinds.find((one) => one.depth === depth);
    if (kind === undefined) continue;
    if (kind.isDefault) name ??= kind.name;
    all.set(kind.name, (all.get(kind.name) ?? new Set()).add(field.path[depth]!));
  }
  return { name: name === undefined ? undefined : String(name), all };
}

/** Keys of a path, without indexes. */
export function namesOf(path: Path): string[] {
  return path.map(String).filter((part) => !/^\d+$/.test(part));
}

function isNamed(pattern: string, name: string): boolean {
  return pattern === '*' || pattern === name;
}

/** Beginning of a path that has so many keys, with the index of an item that follows. */
function sectionAt(path: Path, depth: number): Path {
  const end = path.findIndex((_, i) => namesOf(path.slice(0, i + 1)).length > depth);
  return end < 0 ? path : path.slice(0, end);
}

function* walk(schema: z.ZodType, path: readonly string[], kinds: readonly Kind[]): Generator<Field> {
  const { inner, required, initial } = unwrapped(schema);
  if (inner instanceof z.ZodObject) {
    for (const [name, child] of Object.entries(inner.shape))
      yield* walk(child as z.ZodType, [...path, name], kinds);
  } else if (inner instanceof z.ZodDiscriminatedUnion) {
    for (const option of inner.options as z.ZodType[]) {
      const name = kindOf(option);
      const isDefault = name === (initial as { kind?: unknown } | undefined)?.kind;
      yield* walk(option, path, [...kinds, { depth: path.length, name, isDefault }]);
    }
  } else {
    const [parts, below] = partsOf(inner, path);
    if (!parts.some((part) => unwrapped(part).inner instanceof z.ZodDiscriminatedUnion))
      yield { path, schema, required, kinds };
    for (const part of parts)
      for (const field of walk(part, below, kinds)) if (field.path.length > path.length) yield field;
  }
}

/** Schemas of what a list, a record or an alternative may hold, and the path at which they apply. */
function partsOf(schema: z.ZodType, path: readonly string[]): [readonly z.ZodType[], readonly string[]] {
  if (schema instanceof z.ZodArray) return [[schema.element as z.ZodType], path];
  if (schema instanceof z.ZodRecord) return [[schema.valueType as z.ZodType], [...path, '*']];
  return [schema instanceof z.ZodUnion ? (schema.options as z.ZodType[]) : [], path];
}

function kindOf(option: z.ZodType): string {
  const { shape } = unwrapped(option).inner as z.ZodObject;
  return String((shape.kind as z.ZodLiteral).value);
}

interface Unwrapped {
  readonly inner: z.ZodType;
  readonly required: boolean;
  /** Value of an absent key; undefined: none. */
  readonly initial: unknown;
}

/** A schema without defaults, preprocessing and transformations. */
function unwrapped(inner: z.ZodType, required = true, initial?: unknown): Unwrapped {
  if (inner instanceof z.ZodOptional || inner instanceof z.ZodExactOptional)
    return unwrapped(inner.def.innerType as z.ZodType, false, initial);
  if (inner instanceof z.ZodDefault || inner instanceof z.ZodPrefault)
    return unwrapped(inner.def.innerType as z.ZodType, false, inner.def.defaultValue);
  if (!(inner instanceof z.ZodPipe)) return { inner, required, initial };
  const { in: first, out } = inner.def;
  return unwrapped((first instanceof z.ZodTransform ? out : first) as z.ZodType, required, initial);
}
