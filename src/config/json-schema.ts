import * as z from 'zod';
import type { Plugin } from '../policies/entry.js';
import { DERIVED_DEFAULT, INSTEAD_OF, ONE_OR_MANY } from './fields.js';
import { profileSchema } from './profile.js';
import { experimentSchemaWith } from './schema.js';

/** The part of JSON Schema that this module produces. */
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

/** JSON Schema of the experiment file, as a person writes it: for editors and for `--help`. */
export function experimentJsonSchema(plugins: readonly Plugin[] = []): JsonSchema {
  return published(experimentSchemaWith(plugins), 'escapement experiment');
}

/** JSON Schema of one key. */
export function keyJsonSchema(schema: z.ZodType): JsonSchema {
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
  // A field that says its types itself also takes numbers where its check wants their text.
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
