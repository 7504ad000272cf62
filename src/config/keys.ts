import * as z from 'zod';
import type { Plugin } from '../policies/entry.js';
import { gpuPath, type Path, shortPath, valueAt } from './document.js';
import { DERIVED_DEFAULT, ONE_OR_MANY } from './fields.js';
import { profileSchema } from './profile.js';
import { experimentSchemaWith } from './schema.js';
import { holdsValue, isRequired, schemasAt, sectionsIn } from './schema-fields.js';

type JsonSchema = z.core.JSONSchema.BaseSchema;

/** JSON Schema of the experiment file, as people write it: for editors. */
export function experimentJsonSchema(): object {
  return published(experimentSchemaWith([]), 'escapement experiment');
}

/** JSON Schema of a model profile. */
export function profileJsonSchema(): object {
  return published(profileSchema, 'escapement model profile');
}

function published(schema: z.ZodType, title: string): object {
  const { $schema, ...rest } = jsonOf(schema);
  return { $schema, title, ...rest };
}

function jsonOf(schema: z.ZodType): JsonSchema {
  return z.toJSONSchema(schema, { io: 'input', override: ({ jsonSchema }) => tidy(jsonSchema) });
}

function tidy(json: JsonSchema): void {
  // A field that states its types also takes numbers where its check requires their text.
  if (json.type !== undefined) delete json.anyOf;
  if (json.maximum === Number.MAX_SAFE_INTEGER) delete json.maximum;
  if (json[DERIVED_DEFAULT] !== undefined) {
    json.default = json[DERIVED_DEFAULT] as string;
    delete json[DERIVED_DEFAULT];
  }
  if (json[ONE_OR_MANY] !== true) return;
  json.anyOf = [json.items as JsonSchema, { type: 'array', items: json.items!, minItems: 1 }];
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

/** Every key with a value, in the order of the schema. A kind within a kind does not count: its keys are listed once. */
export function describeKeys(plugins: readonly Plugin[] = []): KeyDescription[] {
  const all = [...keysIn(experimentSchemaWith(plugins), '')];
  return all.filter(({ key, kind }, i) => i === all.findIndex((one) => one.key === key && one.kind === kind));
}

function* keysIn(schema: z.ZodType, key: string, kind?: string): Generator<KeyDescription> {
  if (key !== '' && holdsValue(schema) && !(schema instanceof z.ZodLiteral)) {
    const { description = '', default: value } = jsonOf(schema);
    const text = textOf(value);
    yield {
      key,
      ...(kind === undefined ? {} : { kind }),
      description,
      ...(text === undefined ? {} : { default: text }),
      required: isRequired(schema),
    };
  }
  for (const section of sectionsIn(schema))
    for (const [name, child] of Object.entries(section.shape))
      yield* keysIn(
        child,
        key === '' ? name : `${key}.${name}`,
        kind ?? (key.includes('.') ? undefined : section.kind),
      );
}

/**
 * Value of a key as written in a tree or else the default of the schema: `policy.scheduleAhead` is `10ms` even if the
 * file does not set it. Undefined if it is derived, or if the key does not exist.
 */
export function keyValue(tree: unknown, key: string, plugins: readonly Plugin[] = []): unknown {
  const path = pathOf(tree, key);
  const schema = valueSchemaAt(tree, path, plugins);
  if (schema instanceof z.ZodLiteral) return schema.value;
  return valueAt(tree, path) ?? (schema && jsonOf(schema).default);
}

/** That value as text. */
export function defaultText(tree: unknown, key: string): string | undefined {
  return textOf(keyValue(tree, key));
}

/** True if the schema has such a key, given the kinds of sections in the file. */
export function keyExists(tree: unknown, key: string, plugins: readonly Plugin[] = []): boolean {
  return schemasAt(experimentSchemaWith(plugins), pathOf(tree, key), tree).length > 0;
}

/** Type of number that a key holds, with or without a unit; `list`: it holds one; undefined: there is no such key. */
export function numberKind(
  tree: unknown,
  key: string,
  plugins: readonly Plugin[] = [],
): 'integer' | 'number' | 'list' | 'none' | undefined {
  if (Array.isArray(valueAt(tree, pathOf(tree, key)))) return 'list';
  const schema = valueSchemaAt(tree, pathOf(tree, key), plugins);
  if (schema === undefined) return keyExists(tree, key, plugins) ? 'none' : undefined;
  const { type, anyOf = [] } = jsonOf(schema);
  const types = [type, ...anyOf.map((one) => one.type)].flat();
  if (types.includes('number') && !types.includes('array')) return 'number';
  return types.includes('integer') ? 'integer' : 'none';
}

function pathOf(tree: unknown, key: string): Path {
  return gpuPath(tree, shortPath(tree, key.split('.')));
}

/** Schema of the value at a path, given the kinds of sections in the tree. */
function valueSchemaAt(tree: unknown, path: Path, plugins: readonly Plugin[]): z.ZodType | undefined {
  return schemasAt(experimentSchemaWith(plugins), path, tree).find(holdsValue);
}

/** A value as text. */
export function textOf(value: unknown): string | undefined {
  if (value === undefined) return undefined;
  return typeof value === 'string' ? value : JSON.stringify(value);
}
