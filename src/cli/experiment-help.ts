import { describeKeys, type KeyDescription } from '../experiment/keys.js';
import { POLICIES } from '../policies/registry.js';
import { wrap } from '../report/wrap.js';
import { terminalWidth } from './text-layout.js';

const OTHER_POLICY =
  ' Set or varied, it drops the options that only other policies have: --vary policy.kind=clockwork,fifo compares them on one file.';

/** Every key of an experiment file with its default, and the policies with their options, for `--help`. */
export function experimentHelp(): string {
  const keys = describeKeys();
  const summaries = new Map(POLICIES.map(({ kind, summary }) => [kind, `: ${summary}`]));
  return [
    block(
      'Keys of an experiment file, for --set and --vary [default]:',
      keys.filter(({ kind }) => kind === undefined),
    ),
    ...kindBlocks('models', keys, new Map()),
    ...kindBlocks('workload', keys, new Map()),
    ...kindBlocks('policy', keys, summaries),
  ].join('\n\n');
}

/** What every kind of a section has, then what each kind has on top. */
function kindBlocks(
  section: string,
  all: readonly KeyDescription[],
  summaries: ReadonlyMap<string, string>,
): string[] {
  const keys = all.filter(({ key, kind }) => kind !== undefined && key.startsWith(`${section}.`));
  const kinds = [...new Set(keys.map(({ kind }) => kind as string))];
  const count = (line: string) => keys.filter((key) => lineKey(key) === line).length;
  const common = keys.filter((key) => key.kind === kinds[0] && count(lineKey(key)) === kinds.length);
  const isCommon = (key: KeyDescription) => common.some((other) => lineKey(other) === lineKey(key));
  const kindKey: KeyDescription = {
    key: `${section}.kind`,
    description: `One of ${kinds.join(', ')}.${section === 'policy' ? OTHER_POLICY : ''}`,
    required: false,
  };
  return [
    block(`${section}, of any kind:`, [kindKey, ...common]),
    ...kinds.map((kind) => {
      const own = keys.filter((key) => key.kind === kind && !isCommon(key));
      return block(`${section} of kind ${kind}${summaries.get(kind) ?? ''}`, own);
    }),
  ];
}

function block(title: string, keys: readonly KeyDescription[]): string {
  const indent = 4 + Math.max(...keys.map(({ key }) => key.length));
  const lines = keys.map((key) => {
    const text = wrap(`${key.description} ${defaultOf(key)}`.trimEnd(), terminalWidth() - indent);
    return `  ${key.key}`.padEnd(indent) + text.join(`\n${' '.repeat(indent)}`);
  });
  return [...wrap(title, terminalWidth()), ...lines].join('\n');
}

function lineKey({ key, description, default: value }: KeyDescription): string {
  return JSON.stringify([key, description, value]);
}

function defaultOf({ default: value, required }: KeyDescription): string {
  if (value !== undefined) return `[${value}]`;
  return required ? '[required]' : '';
}
