import * as z from 'zod';
import type { Plugin } from '../policies/entry.js';
import { gpuPath, shortPath } from './document.js';
import { DERIVED_DEFAULT, INSTEAD_OF, ONE_OR_MANY } from './fields.js';
import { profileSchema } from './profile.js';
import { experimentSchemaWith } from './schema.js';
import { spotAt } from './schema-walk.js';

/** Subset of JSON Schema that this module produces. */
export interface JsonSchema {
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly default?: unknown;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly additionalProperties?: boolean | JsonSchema;
  readonly required?: readonly string[];
  readonly items?: JsonSchema;
  readonly anyOf?: readonly JsonSchema[];
  readonly oneOf?: readonly JsonSchema[];
  /** Reference to one of `$defs` of the root, `#/$defs/NAME`. */
  readonly $ref?: string;
  readonly $defs?: Readonly<Record<string, JsonSchema>>;
  readonly [keyword: string]: unknown;
}

/** JSON Schema of the experiment file, as people write it: for editors and for `--help`. */
export function experimentJsonSchema(plugins: readonly Plugin[] = []): JsonSchema {
  return published(experimentSchemaWith(plugins), 'escapement experiment');
}

/** JSON Schema of one key. */
function keyJsonSchema(schema: z.ZodType): JsonSchema {
  return published(schema, '');
}

/** JSON Schema of a model profile. */
export function profileJsonSchema(): JsonSchema {
  return published(profileSchema, 'escapement model profile');
}

function published(schema: z.ZodType, title: string): JsonSchema {
  const { $schema, ...rest } = z.toJSONSchema(schema, {
    io: 'input',
    override: ({ jsonSchema }) => tidy(jsonSchema),
  });
  return { $schema, title, ...rest } as JsonSchema;
}

function tidy(json: z.core.JSONSchema.BaseSchema): void {
  // A field that states its types also takes numbers where its check requires their text.
  if (json.type !== undefined) delete json.anyOf;
  if (json.maximum === Number.MAX_SAFE_INTEGER) delete json.maximum;
  if (json[DERIVED_DEFAULT] !== undefined) {
    json.default = json[DERIVED_DEFAULT] as string;
    delete json[DERIVED_DEFAULT];
  }
  delete json[INSTEAD_OF];
  if (json[ONE_OR_MANY] !== true) return;
  json.anyOf = [
    json.items as z.core.JSONSchema.BaseSchema,
    { type: 'array', items: json.items!, minItems: 1 },
  ];
  for (const key of [ONE_OR_MANY, 'type', 'items', 'minItems']) delete json[key];
}

/** One key of the experiment file, for `--help` and documentation. */
export interface KeyDescription {
  /** Dotted, e.g. `policy.scheduleAhead`. */
  readonly key: string;
  /** Kind of section that has it, e.g. `clockwork`; absent if the section has no kinds. */
  readonly kind?: string;
  readonly description: string;
  /** As written in a file; absent if it is required or derived. */
  readonly default?: string;
  readonly required: boolean;
}

/** Every key with a value, in the order of the schema. */
export function describeKeys(plugins: readonly Plugin[] = []): KeyDescription[] {
  const root = experimentJsonSchema(plugins);
  return describeSection(root, root, '', undefined);
}

/**
 * Value of a key as written in a tree or else the default of the schema: `policy.scheduleAhead` is `10ms` even if the
 * file does not set it. Undefined if it is derived, or if the key does not exist.
 */
export function keyValue(tree: unknown, key: string, plugins: readonly Plugin[] = []): unknown {
  return lookUp(tree, key, plugins)?.value;
}

/** That value as text. */
export function defaultText(tree: unknown, key: string, plugins: readonly Plugin[] = []): string | undefined {
  return textOf(keyValue(tree, key, plugins));
}

/** True if the schema has such a key, given the kinds of sections in the file. */
export function keyExists(tree: unknown, key: string, plugins: readonly Plugin[] = []): boolean {
  const path = gpuPath(tree, shortPath(tree, key.split('.')));
  return spotAt(experimentSchemaWith(plugins), tree, path) !== undefined;
}

/** Type of number that a key holds, with or without a unit; undefined if the schema has no such key. */
export function numberKind(
  tree: unknown,
  key: string,
  plugins: readonly Plugin[] = [],
): 'integer' | 'number' | 'none' | undefined {
  const found = lookUp(tree, key, plugins);
  if (found === undefined) return undefined;
  const types = [found.schema, ...(found.schema.anyOf ?? [])].flatMap(({ type }) => type ?? []);
  if (types.includes('number') && !types.includes('array')) return 'number';
  return types.includes('integer') ? 'integer' : 'none';
}

/** Schema of a key and its value, written or by default. */
function lookUp(
  tree: unknown,
  key: string,
  plugins: readonly Plugin[],
): { schema: JsonSchema; value: unknown } | undefined {
  const path = gpuPath(tree, shortPath(tree, key.split('.')));
  const spot = spotAt(experimentSchemaWith(plugins), tree, path);
  if (spot === undefined) return undefined;
  const schema = keyJsonSchema(spot.schema);
  return { schema, value: spot.value ?? schema.default };
}

/** Definition named by a reference; other schemas are returned unchanged. */
function resolved(schema: JsonSchema, root: JsonSchema): JsonSchema {
  return schema.$ref === undefined ? schema : root.$defs![schema.$ref.replace('#/$defs/', '')]!;
}

function describeSection(
  schema: JsonSchema,
  root: JsonSchema,
  prefix: string,
  kind: string | undefined,
): KeyDescription[] {
  return Object.entries(schema.properties ?? {}).flatMap(([name, field]) => {
    const key = prefix + name;
    if (name === 'kind' && field.const !== undefined) return [];
    const list = field.anyOf?.find(({ type }) => type === 'array');
    if (list !== undefined && field.anyOf?.some(({ type }) => type === 'integer')) {
      // A plain value, or a list of sections in its place.
      const items = describeSection(resolved(list.items!, root), root, `${key}.`, kind);
      return [describeValue(key, kind, field, false), ...items];
    }
    const inner = resolved(field.anyOf?.find(({ $ref }) => $ref !== undefined) ?? field, root);
    if (inner.items?.$ref !== undefined) {
      const items = describeSection(resolved(inner.items, root), root, `${key}.`, kind);
      return [describeValue(key, kind, field, schema.required?.includes(name) ?? false), ...items];
    }
    const section = inner.items?.properties === undefined ? inner : inner.items;
    if (section.properties !== undefined) return describeSection(section, root, `${key}.`, kind);
    if (section.oneOf !== undefined) {
      const keys = section.oneOf.flatMap((branch) =>
        describeSection(branch, root, `${key}.`, kind ?? kindOf(branch)),
      );
      // A kind within a kind: keys shared by several of its kinds are described once.
      return kind === undefined
        ? keys
        : keys.filter((one, i) => keys.findIndex((same) => same.key === one.key) === i);
    }
    return describeValue(key, kind, field, schema.required?.includes(name) ?? false);
  });
}

function describeValue(
  key: string,
  kind: string | undefined,
  field: JsonSchema,
  required: boolean,
): KeyDescription {
  const text = textOf(field.default);
  return {
    key,
    ...(kind === undefined ? {} : { kind }),
    description: field.description ?? '',
    ...(text === undefined ? {} : { default: text }),
    required,
  };
}

function kindOf(branch: JsonSchema): string | undefined {
  return branch.properties?.kind?.const as string | undefined;
}

function textOf(value: unknown): string | undefined {
  if (value === undefined) return undefined;
  return typeof value === 'string' ? value : JSON.stringify(value);
}
