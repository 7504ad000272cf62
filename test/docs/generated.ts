import * as z from 'zod';
import { describeKeys, type KeyDescription } from '../../src/config/keys.js';
import { statusSchema } from '../../src/live/observe/status/cluster-status.js';
import { summaryJsonSchema } from '../../src/record/schema-summary.js';
import { ALL_COMMANDS } from '../cli/all-commands.js';
import { runCli } from '../cli/run-cli.js';
import type { JsonSchema } from '../json-schema.js';
import { markdownTable } from './markdown.js';

/** Lines from which on a group of flags is shown for the first command that has it only. */
const LONG_GROUP = 2;

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

/** Help is shown without the flags of every command, and a group of flags once. */
async function flagsPage(): Promise<string> {
  const sections: string[] = [];
  const shown = new Map<string, string>();
  for (const { name } of ALL_COMMANDS) {
    const { stdout } = await runCli([...name.split(' '), '--help']);
    const groups = stdout
      .replaceAll(/^ +(?:--version|-h, --help) .*\n/gm, '')
      .replace('\nOptions:\n\n', '\n')
      .trimEnd()
      .split(/\n\n(?=\S)/)
      .map((group) => {
        const [heading, ...flags] = group.split('\n');
        const other = shown.get(group);
        if (other !== undefined && flags.length >= LONG_GROUP) return `${heading}\n  as for ${other}`;
        shown.set(group, other ?? name);
        return group;
      });
    sections.push(`## ${name}\n\n\`\`\`help\n${groups.join('\n\n')}\n\`\`\`\n`);
  }
  return `# Flags

The help of every command, as \`escapement COMMAND --help\` prints it, without \`--version\` and \`--help\`, which all have, and with each
group of flags once.

${sections.join('\n')}`;
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

\`simulate --json\`, \`run --json\`, \`load --json\`, and \`summary.json\` in the folder of a run. What was not measured is absent.

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
  if (anyOf !== undefined) return anyOf.map(typeOf).join(' or ');
  if (items !== undefined) return `list of ${typeOf(items)}s`;
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
