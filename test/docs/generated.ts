import * as z from 'zod';
import { describeKeys, type KeyDescription } from '../../src/config/keys.js';
import { statusSchema } from '../../src/live/observe/status/cluster-status.js';
import { summaryJsonSchema } from '../../src/record/schema-summary.js';
import { ALL_COMMANDS } from '../cli/all-commands.js';
import { runCli } from '../cli/run-cli.js';
import type { JsonSchema } from '../json-schema.js';
import { markdownTable } from './markdown.js';

/** Pages that follow from the code as a whole. */
export async function generatedPages(): Promise<Readonly<Record<string, string>>> {
  return {
    'docs/reference/flags.md': await flagsPage(),
    'docs/reference/keys.md': keysPage(),
    'docs/reference/json.md': jsonPage(),
  };
}

/** The table of all commands. */
export const COMMAND_TABLE = markdownTable(
  ['command', 'what it does'],
  ALL_COMMANDS.map(({ name, command }) => [
    `[\`${name}\`](flags.md#${name.replace(' ', '-')})`,
    String(command.describe),
  ]),
);

/** Help is shown without the flags of every command, and a flag that an earlier command has alike by its name. */
async function flagsPage(): Promise<string> {
  const shown = new Map<string, string>();
  const sections: string[] = [];
  for (const { name } of ALL_COMMANDS) {
    const { stdout } = await runCli([...name.split(' '), '--help']);
    const help = stdout
      .replaceAll(/^ +(?:--version|-h, --help) .*\n/gm, '')
      .replaceAll(/ *\[string\]$/gm, '')
      .replaceAll(' [default: none]', '')
      .replaceAll('[string] [', `${' '.repeat('[string] '.length)}[`)
      .replaceAll(/\n\n(?=\n|$)/g, '\n')
      .replace('\nOptions:\n\n', '\n')
      .trimEnd();
    const groups = help
      .split(/\n\n(?=\S)/)
      .filter((group) => !group.startsWith('Examples:'))
      .map((group) => withoutShown(group, name, shown));
    sections.push(`## ${name}\n\n\`\`\`help\n${groups.join('\n\n')}\n\`\`\`\n`);
  }
  return `# Flags

The help of every command, as \`escapement COMMAND --help\` prints it, without examples, \`--version\` and \`--help\`, and with each flag once.
A flag takes a value unless it is marked as boolean.

${sections.join('\n')}`;
}

/** A group of help in which what an earlier command has alike is named in a line for that command. */
function withoutShown(group: string, command: string, shown: Map<string, string>): string {
  const [heading = '', ...lines] = group.split('\n');
  const entries = lines.join('\n').split(/\n(?= {2}\w| {6}--)/);
  if (!/^ {2}(?:\w+ {2}| {4}--)/.test(lines[0] ?? '')) return group;
  const own: string[] = [];
  const repeated = new Map<string, string[]>();
  for (const entry of entries) {
    const text = entry.replaceAll(/\s+/g, ' ');
    const first = shown.get(text);
    if (first === undefined) own.push(entry);
    else repeated.set(first, [...(repeated.get(first) ?? []), text.trim().split(' ')[0] as string]);
    shown.set(text, first ?? command);
  }
  const others = [...repeated].map(([first, names]) => `  as for ${first}: ${names.join(', ')}`);
  return [heading, ...own, ...others].join('\n');
}

function keysPage(): string {
  const sections = groupBy(describeKeys(), ({ key }) => key.split('.')[0] as string);
  const single = [...sections.values()]
    .filter(([first, ...more]) => more.length === 0 && !first?.key.includes('.'))
    .flat();
  const parts = [
    `# Keys of the experiment file

Every key that a file, \`--set\` and \`--vary\` can give, as \`escapement keys\` prints them. Sections with kinds say which
of them have a key. [Experiment files](experiment-files.md) explains the sections and how values are written.`,
    '## Top level',
    keyTable(single),
  ];
  for (const [section, keys] of sections) {
    if (keys.length === 1 && single.includes(keys[0] as KeyDescription)) continue;
    parts.push(`## ${section}`);
    const kinds = [...new Set(keys.map(({ kind }) => kind))];
    if (kinds.length > 1) parts.push(`Kinds: ${kinds.map((kind) => `\`${kind}\``).join(', ')}.`);
    parts.push(keyTable(keys));
  }
  return `${parts.join('\n\n')}\n`;
}

/** A row for each key; one that is alike in several kinds has them in a column. */
function keyTable(keys: readonly KeyDescription[]): string {
  const kinds = new Set(keys.map(({ kind }) => kind));
  const explained = new Map<string, string>();
  const meaningOf = ({ key, description }: KeyDescription) => {
    const id = `${key.split('.').at(-1)} ${description}`;
    const earlier = explained.get(id);
    if (earlier !== undefined && earlier !== key) return `as \`${earlier}\``;
    explained.set(id, key);
    return escaped(description);
  };
  const rows = [...groupBy(keys, ({ kind: _, ...key }) => JSON.stringify(key)).values()].map((same) => {
    const [first] = same as [KeyDescription];
    const { key, default: byDefault, required } = first;
    const of = same.length === kinds.size ? 'all' : same.map(({ kind }) => kind).join(', ');
    const usual = required ? 'required' : byDefault === undefined ? '' : `\`${byDefault}\``;
    return [`\`${key}\``, ...(kinds.size > 1 ? [of] : []), usual, meaningOf(first)];
  });
  return markdownTable(['key', ...(kinds.size > 1 ? ['kinds'] : []), 'default', 'meaning'], rows);
}

function jsonPage(): string {
  const table = (rows: string[][]) => markdownTable(['field', 'type', 'meaning'], rows);
  const rows = alike(fieldRows(summaryJsonSchema() as JsonSchema, '', {}));
  // Causes have a table of their own.
  const causes = ['`failures.*`', 'integer', 'Of each [cause](../how-to/explain-failures.md).'];
  const at = rows.findIndex(([name]) => name?.startsWith('`failures.'));
  const others = rows.filter(([name]) => !name?.startsWith('`failures.'));
  const ofSummary = others.toSpliced(at, 0, causes);
  const known = new Set(rows.map(String));
  const ofStatus = alike(fieldRows(z.toJSONSchema(statusSchema) as JsonSchema, '', {}));
  return `# JSON fields

The fields of the two objects that scripts read most. \`escapement schema NAME\` prints the JSON Schema of every published format;
[commands](commands.md#json-output) says which command prints which. \`[]\` stands for each item of a list, \`*\` for any name.

## Summary of a run

\`simulate --json\`, \`run --json\`, \`load --json\`, and \`summary.json\` in the folder of a run. Fields that were not measured, such as
decisions in a load, or do not apply, such as \`weightedGoodputRps\` without classes, are absent. A field of a type with \`?\` may be null: there was nothing to measure.

${table(ofSummary)}

## Status of a controller

\`GET /status\` on the metrics port, and \`top --json\`. It also has fields of a summary, with the same names and meanings, over the
latest requests: those of the requests and their latencies, and \`by\`.

${table(ofStatus.filter((row) => !known.has(String(row))))}
`;
}

/** One row for any dimension in place of those of a field that several dimensions have alike. */
function alike(rows: string[][]): string[][] {
  const ofAny = rows.map(([name = '', ...rest]) => [name.replace(/^`by\.\w+\[\]/, '`by.*[]'), ...rest]);
  const groups = groupBy([...ofAny.entries()], ([, row]) => String(row));
  return [...groups.values()].map(([[i, row], ...others]) => (others.length > 0 ? row : rows[i]!));
}

/**
 * A row for each field that holds a value, objects and lists opened; items of lists without what `known` has, too. An
 * object with the same fields as an earlier one of `opened` refers to it.
 */
function fieldRows(
  schema: JsonSchema,
  path: string,
  known: JsonSchema['properties'],
  opened = new Map<string, string>(),
): string[][] {
  const { properties, items, additionalProperties: others, description = '' } = schema;
  const name = path.replace(/^\./, '');
  const fields = JSON.stringify(properties);
  const same = path.endsWith('[]') || properties === undefined ? undefined : opened.get(fields);
  if (same !== undefined) return [[`\`${name}\``, `like \`${same}\``, escaped(description)]];
  if (properties !== undefined) opened.set(fields, name);
  const own =
    description === '' || path === '' ? [] : [[`\`${name}\``, typeOf(schema), escaped(description)]];
  if (properties !== undefined)
    return [
      ...own,
      ...Object.entries(properties).flatMap(([key, field]) =>
        path.endsWith('[]') && JSON.stringify(field) === JSON.stringify(known?.[key])
          ? []
          : fieldRows(field, `${path}.${key}`, path === '' ? properties : known, opened),
      ),
    ];
  if (items?.properties !== undefined) return [...own, ...fieldRows(items, `${path}[]`, known, opened)];
  if (typeof others === 'object' && others.properties !== undefined)
    return [...own, ...fieldRows(others, `${path}.*`, known, opened)];
  return own.length > 0 ? own : [[`\`${name}\``, typeOf(schema), '']];
}

function typeOf({ type, anyOf, items, const: constant, enum: words }: JsonSchema): string {
  if (constant !== undefined) return `\`${constant}\``;
  if (words !== undefined) return words.map((word) => `\`${word}\``).join(', ');
  if (anyOf?.length === 2 && anyOf[1]?.type === 'null') return `${typeOf(anyOf[0] as JsonSchema)}?`;
  if (anyOf !== undefined) return anyOf.map(typeOf).join(' or ');
  if (items !== undefined) return `${typeOf(items)}s`;
  return [type ?? 'any'].flat().join(' or ');
}

function groupBy<T, K>(items: readonly T[], keyOf: (item: T) => K): Map<K, T[]> {
  const groups = new Map<K, T[]>();
  for (const item of items) {
    const group = groups.get(keyOf(item));
    if (group === undefined) groups.set(keyOf(item), [item]);
    else group.push(item);
  }
  return groups;
}

/** Text as Markdown that shows it as it is. */
function escaped(text: string): string {
  return text.replaceAll('*', '\\*').replaceAll('<', '&lt;').replaceAll('\n', ' ');
}
