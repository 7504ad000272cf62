import * as z from 'zod';
import { type Path, valueAt } from './document.js';

/** A section of known keys within a schema. */
interface Section {
  /** Absent if it has no kinds. */
  readonly kind?: string;
  /** True if a section that names no kind is this one. */
  readonly isDefault: boolean;
  readonly shape: Readonly<Record<string, z.ZodType>>;
}

/** Sections that a schema allows, alone or in a list: one, or one for each kind. */
export function sectionsIn(schema: z.ZodType): Section[] {
  const { inner, initial } = unwrapped(schema);
  if (inner instanceof z.ZodObject) return [{ isDefault: true, shape: inner.shape }];
  if (!(inner instanceof z.ZodDiscriminatedUnion)) return partsOf(inner).flatMap(sectionsIn);
  return (inner.options as z.ZodType[]).map((option) => {
    const { shape } = unwrapped(option).inner as z.ZodObject;
    const kind = String((shape.kind as z.ZodLiteral).value);
    return { kind, isDefault: kind === (initial as { kind?: unknown } | undefined)?.kind, shape };
  });
}

/** Those sections that the one at `path` in a tree is: of its kind, or the default one. */
function ownSections(schema: z.ZodType, tree: unknown, path: Path): Section[] {
  const named = valueAt(tree, [...path, 'kind']);
  return sectionsIn(schema).filter(
    ({ kind, isDefault }) => kind === undefined || (named === undefined ? isDefault : kind === String(named)),
  );
}

/** Schemas at a path, given the kinds of the sections around it in a tree. */
export function schemasAt(root: z.ZodType, path: Path, tree: unknown): z.ZodType[] {
  let found = [root];
  for (const [depth, name] of path.entries()) {
    if (/^\d+$/.test(String(name))) continue;
    found = found.flatMap((schema) => {
      const { inner } = unwrapped(schema);
      if (inner instanceof z.ZodRecord) return [inner.valueType as z.ZodType];
      return ownSections(schema, tree, path.slice(0, depth)).flatMap(({ shape }) =>
        Object.hasOwn(shape, name) ? [shape[name]!] : [],
      );
    });
  }
  return found;
}

/** Kind of the section at `path`, named or by default, and the keys of all that it may have; empty if it has no kinds. */
export function kindsAt(
  schema: z.ZodType,
  tree: unknown,
  path: Path,
): { readonly name: string | undefined; readonly all: ReadonlyMap<string, readonly string[]> } {
  const sections = schemasAt(schema, path, tree).flatMap(sectionsIn);
  const name = valueAt(tree, [...path, 'kind']) ?? sections.find(({ isDefault }) => isDefault)?.kind;
  const all = sections.flatMap(({ kind, shape }) =>
    kind === undefined ? [] : [[kind, Object.keys(shape)] as const],
  );
  return { name: name === undefined ? undefined : String(name), all: new Map(all) };
}

/** Keys of the section at `path`, given the kinds of sections in the tree; empty for an unknown kind. */
export function ownKeys(schema: z.ZodType, tree: unknown, path: Path): Set<string> {
  const own = schemasAt(schema, path, tree).flatMap((each) => ownSections(each, tree, path));
  return new Set(own.flatMap(({ shape }) => Object.keys(shape)));
}

/** True if a key holds a value, or values other than sections by kind. */
export function holdsValue(schema: z.ZodType): boolean {
  const isUnion = (each: z.ZodType) => unwrapped(each).inner instanceof z.ZodDiscriminatedUnion;
  const { inner } = unwrapped(schema);
  return !(inner instanceof z.ZodObject || isUnion(inner) || partsOf(inner).some(isUnion));
}

/** True if a section without it is rejected. */
export function isRequired(schema: z.ZodType): boolean {
  return unwrapped(schema).required;
}

/** Schemas of the members of a list or alternative. */
function partsOf(schema: z.ZodType): readonly z.ZodType[] {
  if (schema instanceof z.ZodArray) return [schema.element as z.ZodType];
  return schema instanceof z.ZodUnion ? (schema.options as z.ZodType[]) : [];
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
