import * as z from 'zod';
import { isSection, type Path } from './document.js';

/** A part of a schema, and the value of a tree there; undefined: not set, and no default. */
interface Spot {
  readonly schema: z.ZodType;
  readonly value: unknown;
}

/** Schema and value at a path, given the kinds of sections in the tree; undefined if there is no such key. */
export function spotAt(schema: z.ZodType, tree: unknown, path: Path): Spot | undefined {
  let spot: Spot = { schema, value: tree };
  for (const part of path) {
    let around = chosen(spot);
    const isIndex = /^\d+$/.test(String(part));
    // A single section stands for a list of one.
    if (around.schema instanceof z.ZodArray && !isIndex && !Array.isArray(spot.value ?? around.value))
      around = chosen(inside(around, around.schema.element, 0));
    const { schema: holder } = around;
    const child =
      holder instanceof z.ZodArray && isIndex
        ? holder.element
        : holder instanceof z.ZodRecord
          ? holder.valueType
          : holder instanceof z.ZodObject && Object.hasOwn(holder.shape, part)
            ? holder.shape[part]
            : undefined;
    if (child === undefined) return undefined;
    spot = inside(around, child, part);
  }
  return spot;
}

/** Kinds of sections allowed at a spot, and the actual one. */
export interface Kinds {
  readonly own: z.ZodObject | undefined;
  /** By name; empty if sections there have no kinds. */
  readonly all: ReadonlyMap<string, z.ZodObject>;
  readonly name: string | undefined;
}

export function kindsAt(spot: Spot): Kinds {
  let { schema, value } = unwrapped(spot);
  if (schema instanceof z.ZodArray)
    ({ schema, value } = unwrapped(inside({ schema, value }, schema.element, 0)));
  if (schema instanceof z.ZodDiscriminatedUnion) {
    const all = optionsOf(schema);
    const name = isSection(value) ? String(value.kind) : undefined;
    return { own: all.get(name ?? ''), all, name };
  }
  const { schema: only } = chosen({ schema, value });
  return { own: only instanceof z.ZodObject ? only : undefined, all: new Map(), name: undefined };
}

function inside({ value }: Spot, schema: unknown, part: string | number): Spot {
  const has = typeof value === 'object' && value !== null && Object.hasOwn(value, part);
  return {
    schema: schema as z.ZodType,
    value: has ? (value as Record<string | number, unknown>)[part] : undefined,
  };
}

/** Without defaults, preprocessing and transformations. */
function unwrapped({ schema, value }: Spot): Spot {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodExactOptional)
    return unwrapped({ schema: schema.def.innerType as z.ZodType, value });
  if (schema instanceof z.ZodDefault || schema instanceof z.ZodPrefault)
    return unwrapped({ schema: schema.def.innerType as z.ZodType, value: value ?? schema.def.defaultValue });
  if (!(schema instanceof z.ZodPipe)) return { schema, value };
  const { in: first, out } = schema.def;
  if (!(first instanceof z.ZodTransform)) return unwrapped({ schema: first as z.ZodType, value });
  const prepare = first.def.transform as (value: unknown) => unknown;
  return unwrapped({ schema: out as z.ZodType, value: prepare(value) });
}

/** The alternative of a union that matches the value; the union itself without a value. */
function chosen(spot: Spot): Spot {
  const { schema, value } = unwrapped(spot);
  if (schema instanceof z.ZodDiscriminatedUnion) {
    const option = optionsOf(schema).get(isSection(value) ? String(value.kind) : '');
    return { schema: option ?? schema, value };
  }
  if (!(schema instanceof z.ZodUnion)) return { schema, value };
  const options = schema.options.map((option) => chosen({ schema: option as z.ZodType, value }));
  return (
    options.find((option) => option.schema instanceof z.ZodArray === Array.isArray(value)) ?? {
      schema,
      value,
    }
  );
}

function optionsOf(union: z.ZodDiscriminatedUnion): Map<string, z.ZodObject> {
  return new Map(
    union.options.map((option) => {
      const { schema } = unwrapped({ schema: option as z.ZodType, value: {} });
      const section = schema as z.ZodObject;
      return [String((section.shape.kind as z.ZodLiteral).value), section];
    }),
  );
}
