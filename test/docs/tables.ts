import { EXIT_BUG, EXIT_INTERRUPTED, EXIT_OK } from '../../src/cli/exit-codes.js';
import { ERRORS } from '../../src/core/errors.js';
import { experimentJsonSchema } from '../../src/experiment/json-schema.js';
import { describeKeys, type KeyDescription } from '../../src/experiment/keys.js';
import { MXNET_VARIABLES } from '../../src/experiment/mxnet-variables.js';
import { RUNTIME_SETTINGS } from '../../src/experiment/runtime-settings.js';
import { formatDuration } from '../../src/experiment/units-text.js';
import { ACTION_COLUMNS } from '../../src/metrics/action-log.js';
import type { LogColumn } from '../../src/metrics/log-columns.js';
import { REQUEST_COLUMNS } from '../../src/metrics/request-log.js';
import { AUTO, type PolicyOption } from '../../src/policies/entry.js';
import { POLICIES } from '../../src/policies/registry.js';

/** Keys that every kind of workload has. */
const COMMON = ['slo', 'models', 'start', 'name'];

/** The tables of the README that follow from the code, as they must stand there. */
export const README_TABLES: Readonly<Record<string, string>> = {
  'exit statuses': exitTable(),
  policies: policyTable(),
  'runtime settings': runtimeTable(),
  'variables of MXNet': mxnetTable(),
  workloads: workloadTable(),
  'columns of requests.tsv': columnTable(REQUEST_COLUMNS),
  'columns of actions.tsv': columnTable(ACTION_COLUMNS),
};

function exitTable(): string {
  return table(
    ['status', 'code', 'meaning'],
    [
      [String(EXIT_OK), '', 'everything went well'],
      [String(EXIT_BUG), '', 'a bug in escapement'],
      ...Object.entries(ERRORS).map(([code, { exit, means }]) => [String(exit), `\`${code}\``, means]),
      [String(EXIT_INTERRUPTED), '', 'interrupted; finished sweep cells are kept'],
    ],
  );
}

function policyTable(): string {
  return table(
    ['kind', 'option', 'default', 'meaning'],
    POLICIES.flatMap(({ kind, summary, options }) => [
      [`\`${kind}\``, '', '', summary],
      ...Object.entries(options).map(([name, option]) => [
        '',
        `\`${name}\``,
        defaultOf(option),
        option.describe,
      ]),
    ]),
  );
}

function runtimeTable(): string {
  return table(
    ['key', 'default', 'environment variable', 'in MXNet', 'meaning'],
    RUNTIME_SETTINGS.map(({ key, default: byDefault, environment, mxnet, description }) => [
      `\`${key}\``,
      byDefault,
      `\`${environment}\``,
      mxnet.replaceAll(/\w+/g, '`$&`'),
      description.replace(/\.$/, ''),
    ]),
  );
}

function mxnetTable(): string {
  return table(
    ['MXNet', 'here', 'remark'],
    MXNET_VARIABLES.map(({ variable, key, remark }) => [
      `\`${variable}\``,
      key === null ? '-' : `\`${key}\``,
      remark,
    ]),
  );
}

function defaultOf({ type, default: value }: PolicyOption): string {
  if (value === undefined) return '';
  return type === 'duration' && value !== AUTO ? formatDuration(value) : String(value);
}

function workloadTable(): string {
  const about = kindDescriptions();
  const keys = describeKeys().filter(({ key, kind }) => key.startsWith('workload.') && kind !== undefined);
  const kinds = [...new Set(keys.map(({ kind }) => kind as string))];
  return table(
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
  return key.replace('workload.', '');
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

function columnTable(columns: readonly LogColumn[]): string {
  return table(
    ['column', 'meaning'],
    columns.map(({ name, describe }) => [`\`${name}\``, describe]),
  );
}

function table(header: readonly string[], rows: readonly (readonly string[])[]): string {
  return [header, header.map(() => '---'), ...rows].map((row) => `| ${row.join(' | ')} |`).join('\n');
}
