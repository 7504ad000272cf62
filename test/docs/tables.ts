import * as z from 'zod';
import { DEFAULT_PAGE_BYTES, MIB, NS_PER_MS } from '../../src/base/units.js';
import { EXIT_BUG, EXIT_CODES, EXIT_INTERRUPTED, EXIT_OK, EXIT_UNREAD } from '../../src/cli/exit-codes.js';
import { windowColumn } from '../../src/cli/run-folder.js';
import { describeKeys, experimentJsonSchema, type KeyDescription } from '../../src/config/keys.js';
import { ZOO_VARIETIES, zooModels } from '../../src/config/zoo.js';
import { POLICIES } from '../../src/policies/registry.js';
import { CAUSE_MEANINGS, CAUSES } from '../../src/record/causes.js';
import { type FigureUnit, figureNames, figureOf } from '../../src/record/figures.js';
import {
  ACTION_COLUMNS,
  CLASS_COLUMN,
  FLEET_COLUMNS,
  LENGTH_COLUMN,
  type LogColumn,
  PADDED_COLUMN,
  PIPELINE_COLUMNS,
  REQUEST_COLUMNS,
  TENANT_COLUMN,
} from '../../src/record/logs.js';
import { runWindowSchema } from '../../src/record/schema.js';
import { TERMS } from '../../src/report/html/terms.js';
import type { JsonSchema } from '../json-schema.js';
import { COMMAND_TABLE } from './generated.js';
import { limitsTable } from './limits.js';
import { markdownTable } from './markdown.js';

const ZOO = zooModels(ZOO_VARIETIES.length, 1, DEFAULT_PAGE_BYTES);

/** Types of columns, by unit. */
const TYPES = { ns: 'int64, ns', ratio: 'double', '': 'int64' };

/** Keys that every kind of workload has. */
const COMMON = ['slo', 'models', 'class', 'tenant', 'start', 'name', 'length'];

/** Units of figures as the page of thresholds calls them. */
const UNITS: Readonly<Record<FigureUnit, string>> = {
  ...{ ms: 'duration', share: 'share', count: 'count', perSecond: 'rate', hours: 'hours', price: 'price' },
};

/** A table that follows from the code, and the page that must have it. */
export interface DocumentTable {
  readonly name: string;
  readonly path: string;
  readonly table: string;
}

export const TABLES: readonly DocumentTable[] = [
  { name: 'commands', path: 'docs/reference/commands.md', table: COMMAND_TABLE },
  { name: 'limits', path: 'docs/validation/threat-model.md', table: limitsTable() },
  { name: 'exit codes', path: 'docs/reference/exit-codes.md', table: exitTable() },
  { name: 'policies', path: 'docs/reference/policies.md', table: policyTable() },
  { name: 'models of the zoo', path: 'docs/reference/models.md', table: zooTable() },
  { name: 'workloads', path: 'docs/reference/workloads.md', table: workloadTable() },
  {
    name: 'terms of reports',
    path: 'docs/concepts/glossary.md',
    table: markdownTable(['term', 'meaning'], Object.entries(TERMS)),
  },
  {
    name: 'causes of failures',
    path: 'docs/how-to/explain-failures.md',
    table: markdownTable(
      ['cause', 'meaning'],
      CAUSES.map((cause) => [`\`${cause}\``, CAUSE_MEANINGS[cause]]),
    ),
  },
  { name: 'figures', path: 'docs/how-to/check-slos-in-ci.md', table: figureTable() },
  { name: 'columns of windows.csv', path: 'docs/reference/outputs.md', table: windowTable() },
  {
    name: 'columns of requests.tsv',
    path: 'docs/reference/outputs.md',
    table: columnTable([...REQUEST_COLUMNS, CLASS_COLUMN, TENANT_COLUMN, ...PIPELINE_COLUMNS, LENGTH_COLUMN]),
  },
  {
    name: 'columns of actions.tsv',
    path: 'docs/reference/outputs.md',
    table: columnTable([...ACTION_COLUMNS, PADDED_COLUMN]),
  },
  { name: 'columns of gpus.tsv', path: 'docs/reference/outputs.md', table: columnTable(FLEET_COLUMNS) },
];

/** Causes of failures have a table of their own, percentiles are named as a whole. */
function figureTable(): string {
  const names = figureNames().filter(
    (name) => name === 'late' || !(/^p\d+$/.test(name) || (CAUSES as readonly string[]).includes(name)),
  );
  return markdownTable(
    ['figure', 'unit', 'better', 'meaning'],
    names.map((name) => {
      const { unit, better = '', description } = figureOf(name)!;
      // What JSON has instead of a figure that was not measured fails any threshold.
      return [`\`${name}\``, UNITS[unit], better, description.replace(/; (?:null|absent)\b.*/, '.')];
    }),
  );
}

function exitTable(): string {
  return markdownTable(
    ['exit code', 'error', 'meaning'],
    [
      [String(EXIT_OK), '', 'success'],
      [String(EXIT_BUG), '', 'a bug in escapement'],
      ...Object.entries(EXIT_CODES).map(([code, { exit, means }]) => [String(exit), `\`${code}\``, means]),
      [String(EXIT_INTERRUPTED), '', 'interrupted; finished cells of a sweep and runs of a plan are kept'],
      [
        String(EXIT_UNREAD),
        '',
        'the reader of the output, such as `head`, went away before the command had ended',
      ],
    ],
  );
}

function policyTable(): string {
  return markdownTable(
    ['kind', 'what it does'],
    POLICIES.map(({ kind, summary }) => [`\`${kind}\``, summary]),
  );
}

function workloadTable(): string {
  const about = kindDescriptions();
  const keys = describeKeys().filter(({ key, kind }) => key.startsWith('workload.') && kind !== undefined);
  const kinds = [...new Set(keys.map(({ kind }) => kind as string))];
  return markdownTable(
    ['kind', 'what arrives', 'keys [default]'],
    kinds.map((kind) => [
      `\`${kind}\``,
      (about.get(kind) ?? '').replace(/\.$/, ''),
      keys
        .filter((key) => key.kind === kind && !COMMON.includes(nameOf(key)))
        .map(keyText)
        .join(', '),
    ]),
  );
}

function nameOf({ key }: KeyDescription): string {
  const name = key.replace('workload.', '');
  // Every kind takes it, whatever its own kind is.
  return name.startsWith('length.') ? 'length' : name;
}

function keyText(key: KeyDescription): string {
  const name = nameOf(key);
  // The schema lists values; for people popularity is one key.
  if (name === 'popularity.s') return 'popularity';
  const shown = key.required ? `**${name}**` : name;
  return key.default === undefined ? shown : `${shown} [${key.default}]`;
}

function kindDescriptions(): Map<string, string> {
  const found = new Map<string, string>();
  const visit = (node: unknown): void => {
    if (typeof node !== 'object' || node === null) return;
    const { properties, description } = node as {
      properties?: { kind?: { const?: string } };
      description?: string;
    };
    const kind = properties?.kind?.const;
    if (kind !== undefined && description !== undefined) found.set(kind, description);
    for (const child of Object.values(node)) visit(child);
  };
  visit(experimentJsonSchema());
  return found;
}

function windowTable(): string {
  const { properties = {} } = z.toJSONSchema(runWindowSchema) as JsonSchema;
  const rows = Object.entries(properties).map(([member, { description = '' }]) => [
    `\`${windowColumn(member)}\``,
    description.replace(/^[A-Z](?=[a-z])/, (letter) => letter.toLowerCase()).replace(/\.$/, ''),
  ]);
  return markdownTable(
    ['column', 'meaning'],
    [...rows, ['`events`', 'what happened to GPUs in it, without reasons']],
  );
}

function columnTable(columns: readonly LogColumn[]): string {
  return markdownTable(
    ['column', 'type', 'meaning'],
    columns.map(({ name, unit, describe }) => [`\`${name}\``, TYPES[unit ?? ''], describe]),
  );
}

/** Models in the order of the zoo, as `varieties` counts them, with what they are simulated with. */
function zooTable(): string {
  return markdownTable(
    ['model', 'weights, MiB', 'INFER of 1, ms'],
    ZOO.map(({ name, weightsBytes, execNs }) => [
      `\`${name}\``,
      (weightsBytes / MIB).toFixed(1),
      (execNs[0] / NS_PER_MS).toFixed(2),
    ]),
  );
}
