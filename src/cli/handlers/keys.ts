import { EscapementError } from '../../base/errors.js';
import { nearest } from '../../base/nearest.js';
import { ON_DISK } from '../../config/files-on-disk.js';
import { defaultText, describeKeys, type KeyDescription } from '../../config/keys.js';
import { loadPluginFiles } from '../../config/plugins.js';
import { RUNTIME_SETTINGS } from '../../config/runtime-settings.js';
import type { Plugin, PolicyEntry } from '../../policies/entry.js';
import { POLICIES } from '../../policies/registry.js';
import { hanging, terminalWidth, writeOut } from '../../text/terminal.js';
import { wrap } from '../../text/wrap.js';
import type { KeysArgs } from '../commands/keys.js';

/** Sections whose keys depend on their kind. */
const SECTIONS_OF_KINDS = ['models', 'workload', 'policy', 'scaler'] as const;

const OTHER_POLICY =
  'Setting or varying it drops the options that only other policies have: --vary policy.kind=clockwork,fifo ' +
  'compares them on one file.';
const RUNTIME_SOURCES =
  'Runtime keys can be set, in order of precedence, by --set, by the environment variable named here, in the ' +
  'section runtime of the experiment file, and by runtime.preset.';

/** Keys under a heading. */
interface Block {
  readonly heading: string;
  readonly keys: readonly KeyDescription[];
}

/** `escapement keys [PREFIX]`: the keys of the experiment file, for --set and --vary, with their defaults. */
export async function run({ prefix, json, plugin }: KeysArgs): Promise<void> {
  const all = blocks(await loadPluginFiles(plugin, ON_DISK));
  const found = prefix === undefined ? all : matching(all, prefix);
  if (json) writeOut(`${JSON.stringify({ keys: found.flatMap(({ keys }) => keys) })}\n`);
  else writeOut(`${found.map(blockText).join('\n\n')}\n`);
}

function blocks(plugins: readonly Plugin[]): Block[] {
  const policies = [...POLICIES, ...plugins.flatMap((plugin) => plugin.policies)];
  const keys = describeKeys(plugins).map(withEnvironment);
  const plain = keys.filter(({ kind }) => kind === undefined);
  const isRuntime = ({ key }: KeyDescription) => key.startsWith('runtime.');
  return [
    {
      heading: 'Keys of the experiment file, for --set and --vary [default]:',
      keys: plain.filter((key) => !isRuntime(key)),
    },
    { heading: RUNTIME_SOURCES, keys: plain.filter(isRuntime) },
    ...SECTIONS_OF_KINDS.flatMap((section) => kindBlocks(section, keys, policies)),
  ];
}

/** Keys that begin with the prefix; `policy.clockwork` or `clockwork`: those of a kind. Throws `E_USAGE`. */
function matching(all: readonly Block[], prefix: string): Block[] {
  const wanted = prefix.toLowerCase();
  const begins = (name: string) => name.toLowerCase().startsWith(wanted);
  const ofKind = ({ key, kind = '' }: KeyDescription) => {
    const [section] = key.split('.');
    return kind.toLowerCase() === wanted || `${section}.${kind}`.toLowerCase() === wanted;
  };
  const contains = ({ key }: KeyDescription) => key.toLowerCase().includes(wanted);
  const filtered = (fits: (key: KeyDescription) => boolean) =>
    all
      .map(({ heading, keys }) => ({ heading, keys: keys.filter(fits) }))
      .filter(({ keys }) => keys.length > 0);
  for (const fits of [(key: KeyDescription) => begins(key.key) || ofKind(key), contains]) {
    const found = filtered(fits);
    if (found.length > 0) return found;
  }
  const names = all.flatMap(({ keys }) =>
    keys.flatMap(({ key, kind }) => [key.split('.')[0]!, key, ...(kind === undefined ? [] : [kind])]),
  );
  const meant = nearest(prefix, names);
  const hint = meant === undefined ? 'see escapement keys' : `did you mean "${meant}"?`;
  throw new EscapementError('E_USAGE', `no key begins with ${prefix}; ${hint}`);
}

/** What every kind of a section has, then what each kind has on top. */
function kindBlocks(
  section: string,
  all: readonly KeyDescription[],
  policies: readonly PolicyEntry[],
): Block[] {
  const keys = all.filter(({ key, kind }) => kind !== undefined && key.startsWith(`${section}.`));
  const kinds = [...new Set(keys.map(({ kind }) => kind as string))];
  const count = (line: string) => keys.filter((key) => lineKey(key) === line).length;
  const common = keys.filter((key) => key.kind === kinds[0] && count(lineKey(key)) === kinds.length);
  const isCommon = (key: KeyDescription) => common.some((other) => lineKey(other) === lineKey(key));
  const key = `${section}.kind`;
  const value = defaultText({}, key);
  const more = section === 'policy' ? ` ${OTHER_POLICY}` : '';
  const kindKey: KeyDescription = {
    key,
    ...(value === undefined ? {} : { default: value }),
    description: `One of ${kinds.join(', ')}.${more}`,
    required: false,
  };
  const ofAnyKind = common.map(({ kind: _, ...shared }) => shared);
  return [
    { heading: `${section}, of any kind:`, keys: [kindKey, ...ofAnyKind] },
    ...kinds.map((kind) => {
      const ofKind = keys.filter((key) => key.kind === kind);
      const own = ofKind.filter((key) => !isCommon(key));
      // One that has nothing of its own must still be found by its name.
      const shown = own.length > 0 ? own : ofKind;
      return { heading: `${section} of kind ${kind}${summaryOf(section, kind, policies)}`, keys: shown };
    }),
  ];
}

function summaryOf(section: string, kind: string, policies: readonly PolicyEntry[]): string {
  const summary = policies.find((policy) => policy.kind === kind)?.summary;
  return section === 'policy' && summary !== undefined ? `: ${summary}` : ':';
}

/** A runtime key also says its environment variable and its name in MXNet. */
function withEnvironment(key: KeyDescription): KeyDescription {
  const setting = RUNTIME_SETTINGS.find(({ key: name }) => key.key === `runtime.${name}`);
  if (setting === undefined) return key;
  const mxnet = setting.mxnet === '' ? '' : `; MXNet: ${setting.mxnet}`;
  return { ...key, description: `${key.description} (${setting.environment}${mxnet})` };
}

function blockText({ heading, keys }: Block): string {
  const indent = 4 + Math.max(...keys.map(({ key }) => key.length));
  const lines = keys.flatMap((key) =>
    hanging(`  ${key.key}`, `${key.description} ${defaultOf(key)}`.trimEnd(), indent, terminalWidth()),
  );
  return [...wrap(heading, terminalWidth()), ...lines].join('\n');
}

function lineKey({ key, description, default: value }: KeyDescription): string {
  return JSON.stringify([key, description, value]);
}

function defaultOf({ default: value, required }: KeyDescription): string {
  if (value !== undefined) return `[${value}]`;
  return required ? '[required]' : '';
}
