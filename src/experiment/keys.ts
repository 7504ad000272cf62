import { isSection, type Path, shortPath, valueAt } from './document.js';
import { experimentJsonSchema, type JsonSchema } from './json-schema.js';

/** One key of the experiment file, for `--help` and documentation. */
export interface KeyDescription {
  /** Dotted, e.g. `policy.scheduleAhead`. */
  readonly key: string;
  /** The kind of section that has it, e.g. `clockwork`; absent where the section has no kinds. */
  readonly kind?: string;
  readonly description: string;
  /** As written in a file; absent where it must be given or is derived. */
  readonly default?: string;
  readonly required: boolean;
}

/** Every key that holds a value, in the order of the schema. */
export function describeKeys(): KeyDescription[] {
  return describeSection(experimentJsonSchema(), '', undefined);
}

/**
 * What a key has when nothing overrides it, as written in the file or else as the default of the schema:
 * `policy.scheduleAhead` is "10ms" even where the file says nothing. Undefined where a key has neither,
 * because its value is derived, and where it does not exist.
 */
export function defaultText(tree: unknown, key: string): string | undefined {
  const path = key.split('.');
  const written = valueAt(tree, path);
  return textOf(written === undefined ? schemaAt(tree, path)?.default : written);
}

/** Whether the schema has such a key, given the kinds of sections that the file chose. */
export function keyExists(tree: unknown, key: string): boolean {
  return schemaAt(tree, key.split('.')) !== undefined;
}

function schemaAt(tree: unknown, path: Path): JsonSchema | undefined {
  let schema: JsonSchema | undefined = experimentJsonSchema();
  const short = shortPath(tree, path);
  for (const [depth, part] of short.entries()) {
    schema = branchFor(valueAt(tree, short.slice(0, depth)), schema);
    schema = /^\d+$/.test(String(part)) ? schema?.items : schema?.properties?.[part];
    if (schema === undefined) return undefined;
  }
  return schema;
}

/** Chooses the list or the single section, and the kind, that fit what is written. */
function branchFor(written: unknown, schema: JsonSchema): JsonSchema | undefined {
  const value = written ?? schema.default;
  if (schema.anyOf !== undefined) {
    const branch = schema.anyOf.find(({ type }) => (type === 'array') === Array.isArray(value));
    return branch && branchFor(value, branch);
  }
  if (schema.oneOf === undefined) return schema;
  const kind = isSection(value) ? value.kind : undefined;
  return schema.oneOf.find((branch) => kindOf(branch) === kind);
}

function describeSection(schema: JsonSchema, prefix: string, kind: string | undefined): KeyDescription[] {
  return Object.entries(schema.properties ?? {}).flatMap(([name, field]) => {
    const key = prefix + name;
    if (name === 'kind') return [];
    const item = field.items?.properties === undefined ? field.anyOf?.find(({ oneOf }) => oneOf !== undefined) : field.items;
    const inner = item ?? field;
    if (inner.properties !== undefined) return describeSection(inner, `${key}.`, kind);
    if (inner.oneOf !== undefined) {
      return inner.oneOf.flatMap((branch) => describeSection(branch, `${key}.`, kind === undefined ? kindOf(branch) : kind));
    }
    const text = textOf(field.default);
    return {
      key,
      ...(kind === undefined ? {} : { kind }),
      description: field.description ?? '',
      ...(text === undefined ? {} : { default: text }),
      required: schema.required?.includes(name) ?? false,
    };
  });
}

function kindOf(branch: JsonSchema): string | undefined {
  return branch.properties?.kind?.const as string | undefined;
}

function textOf(value: unknown): string | undefined {
  if (value === undefined) return undefined;
  return typeof value === 'string' ? value : JSON.stringify(value);
}
