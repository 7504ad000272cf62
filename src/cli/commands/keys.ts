import { nearest } from '../../base/nearest.js';
import type { KeyDescription } from '../../config/keys.js';
import type { Plugin } from '../../policies/entry.js';
import { hanging, terminalWidth } from '../../text/terminal.js';
import { wrap } from '../../text/wrap.js';
import { json, plugin, print } from '../common-options.js';
import { group, text, usageError, type ValuesOf } from '../options.js';

export const flags = {
  prefix: text('Only keys with this in their name, or a policy or workload of this kind'),
  ...group('Options', { plugin, json }),
};
export const examples = ['keys', 'keys cluster', 'keys policy.clockwork', 'keys runtime'];

/** Sections whose keys depend on their kind. */
const SECTIONS_OF_KINDS = ['models', 'workload', 'policy', 'scaler'] as const;

const OTHER_POLICY =
  ' Setting or varying it drops the options that only other policies have: --vary policy.kind=clockwork,fifo ' +
  'compares them on one file.';
const RUNTIME_SOURCES =
  'Runtime keys can be set, in order of precedence, by --set, by the environment variable named here, and in ' +
  'the section runtime of the experiment file.';

/** Keys under a heading. */
type Block = readonly [heading: string, keys: readonly KeyDescription[]];

/** `escapement keys [PREFIX]`: keys of the experiment file, for --set and --vary, with their defaults. */
export async function handler({ prefix, json, plugin }: ValuesOf<typeof flags>): Promise<void> {
  const { ON_DISK } = await import('../../config/files-on-disk.js');
  const { loadPluginFiles } = await import('../../config/plugins.js');
  const all = await blocks(await loadPluginFiles(plugin, ON_DISK));
  const found = prefix === undefined ? all : matching(all, prefix);
  const keys = found.flatMap(([, keys]) => keys);
  print({ json }, { keys }, () => `${found.map(blockText).join('\n\n')}\n`);
}

async function blocks(plugins: readonly Plugin[]): Promise<Block[]> {
  const { defaultText, describeKeys } = await import('../../config/keys.js');
  const { RUNTIME_SETTINGS } = await import('../../config/runtime-settings.js');
  const { POLICIES } = await import('../../policies/registry.js');
  const policies = [...POLICIES, ...plugins.flatMap((plugin) => plugin.policies)];
  const keys = describeKeys(plugins).map((key) => {
    const setting = RUNTIME_SETTINGS.find(({ key: name }) => key.key === `runtime.${name}`);
    if (setting === undefined) return key;
    return { ...key, description: `${key.description} (${setting.environment})` };
  });
  const plain = keys.filter(({ kind }) => kind === undefined);
  const isRuntime = ({ key }: KeyDescription) => key.startsWith('runtime.');
  const found: Block[] = [
    ['Keys of the experiment file, for --set and --vary [default]:', plain.filter((key) => !isRuntime(key))],
    [RUNTIME_SOURCES, plain.filter(isRuntime)],
  ];
  // Keys shared by every kind of a section, then the additional ones of each kind.
  for (const section of SECTIONS_OF_KINDS) {
    const own = keys.filter(({ key, kind }) => kind !== undefined && key.startsWith(`${section}.`));
    const kinds = [...new Set(own.map(({ kind }) => kind as string))];
    const identity = ({ kind: _, ...key }: KeyDescription) => JSON.stringify(key);
    const isCommon = (key: KeyDescription) =>
      own.filter((other) => identity(other) === identity(key)).length === kinds.length;
    const byDefault = defaultText({}, `${section}.kind`);
    const kindKey = {
      ...{ key: `${section}.kind`, required: false },
      ...(byDefault === undefined ? {} : { default: byDefault }),
      description: `One of ${kinds.join(', ')}.${section === 'policy' ? OTHER_POLICY : ''}`,
    };
    const common = own.filter((key) => key.kind === kinds[0] && isCommon(key));
    found.push([`${section}, of any kind:`, [kindKey, ...common.map(({ kind: _, ...shared }) => shared)]]);
    for (const kind of kinds) {
      const ofKind = own.filter((key) => key.kind === kind);
      const special = ofKind.filter((key) => !isCommon(key));
      const entry = section === 'policy' ? policies.find((policy) => policy.kind === kind) : undefined;
      const summary = entry === undefined ? '' : ` ${entry.summary}`;
      // A kind without keys of its own must still be found by name.
      found.push([`${section} of kind ${kind}:${summary}`, special.length > 0 ? special : ofKind]);
    }
  }
  return found;
}

/** Keys that contain the text; `policy.clockwork` or `clockwork`: those of a kind. Throws `E_USAGE`. */
function matching(all: readonly Block[], text: string): Block[] {
  const wanted = text.toLowerCase();
  const fits = ({ key, kind = '' }: KeyDescription) =>
    [key, kind, `${key.split('.')[0]}.${kind}`].some((name, i) =>
      i === 0 ? name.toLowerCase().includes(wanted) : name.toLowerCase() === wanted,
    );
  const found = all.map(([heading, keys]) => [heading, keys.filter(fits)] as const);
  const filled = found.filter(([, keys]) => keys.length > 0);
  if (filled.length > 0) return filled;
  const names = all.flatMap(([, keys]) =>
    keys.flatMap(({ key, kind }) => [key.split('.')[0]!, key, kind ?? key]),
  );
  const meant = nearest(text, names);
  const hint = meant === undefined ? 'see escapement keys' : `did you mean "${meant}"?`;
  throw usageError(`no key contains ${text}; ${hint}`);
}

function blockText([heading, keys]: Block): string {
  const indent = 4 + Math.max(...keys.map(({ key }) => key.length));
  const lines = keys.flatMap(({ key, description, default: value, required }) => {
    const shown = value !== undefined ? ` [${value}]` : required ? ' [required]' : '';
    return hanging(`  ${key}`, `${description}${shown}`.trimEnd(), indent, terminalWidth());
  });
  return [...wrap(heading, terminalWidth()), ...lines].join('\n');
}
