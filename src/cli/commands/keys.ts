import { nearest } from '../../base/nearest.js';
import type { KeyDescription } from '../../config/keys.js';
import { groupBy } from '../../report/lists.js';
import { hanging, terminalWidth } from '../../text/terminal.js';
import { json, plugin, print } from '../common-options.js';
import { group, text, usageError, type ValuesOf } from '../options.js';

export const flags = {
  prefix: text('Only keys with this in their name, or a policy or workload of this kind'),
  ...group('Options', { plugin, json }),
};
export const examples = ['keys', 'keys cluster', 'keys policy.clockwork', 'keys runtime'];
export const notes = [
  'Setting or varying policy.kind drops the options that only other policies have, so ' +
    '--vary policy.kind=clockwork,fifo compares them on one file.',
  'Runtime keys can be set, in order of precedence, by --set, by the environment variable named here, and in the section ' +
    'runtime of the experiment file.',
].join('\n\n');

/** `escapement keys [PREFIX]`: keys of the experiment file, for --set and --vary, with their defaults. */
export async function handler({ prefix = '', json, plugin }: ValuesOf<typeof flags>): Promise<void> {
  const { ON_DISK } = await import('../../config/files-on-disk.js');
  const { defaultText, describeKeys } = await import('../../config/keys.js');
  const { loadPluginFiles } = await import('../../config/plugins.js');
  const { RUNTIME_SETTINGS } = await import('../../config/runtime-settings.js');
  const all = describeKeys(await loadPluginFiles(plugin, ON_DISK)).map((key) => {
    const variable = RUNTIME_SETTINGS.find(({ key: name }) => key.key === `runtime.${name}`)?.environment;
    return variable === undefined ? key : { ...key, description: `${key.description} (${variable})` };
  });
  const keys = matching(all, prefix);
  const sectionOf = ({ key }: KeyDescription) => (key.includes('.') ? key.split('.')[0]! : '');
  const kinds = groupBy(
    all.filter(({ kind }) => kind !== undefined),
    sectionOf,
  );
  const sections = [...groupBy(keys, sectionOf)].map(([section, own]) => {
    const known = new Set(kinds.get(section)?.map(({ kind }) => kind));
    const byDefault = defaultText({}, `${section}.kind`);
    const kindRow = {
      ...{ key: `${section}.kind`, description: `One of ${[...known].join(', ')}.`, required: false },
      ...(byDefault === undefined ? {} : { default: byDefault }),
    };
    return [...(known.size === 0 ? [] : [kindRow]), ...alike(own, known.size)];
  });
  print({ json }, { keys }, () => sections.map(keysText).join('\n'));
}

/** Keys that contain the text; `policy.clockwork` or `clockwork`: those of a kind. Throws `E_USAGE`. */
function matching(all: readonly KeyDescription[], given: string): KeyDescription[] {
  const wanted = given.toLowerCase();
  const found = all.filter(
    ({ key, kind = '' }) =>
      key.toLowerCase().includes(wanted) ||
      [kind, `${key.split('.')[0]}.${kind}`].some((name) => name.toLowerCase() === wanted),
  );
  if (found.length > 0) return found;
  const meant = nearest(
    given,
    all.flatMap(({ key, kind = key }) => [key.split('.')[0]!, key, kind]),
  );
  const hint = meant === undefined ? 'see escapement keys' : `did you mean "${meant}"?`;
  throw usageError(`no key contains ${given}; ${hint}`);
}

/** Merges keys that differ only in their kind; the merged key names its kinds unless it applies to all. */
function alike(keys: readonly KeyDescription[], allKinds: number): KeyDescription[] {
  const groups = groupBy(keys, ({ kind: _, ...key }) => JSON.stringify(key));
  return [...groups.values()].map(([first, ...others]) => {
    const kinds = [first!, ...others].flatMap(({ kind }) => kind ?? []);
    const of = kinds.length === 0 || kinds.length === allKinds ? '' : `${kinds.join(', ')}: `;
    return { ...first!, description: of + first!.description };
  });
}

function keysText(keys: readonly KeyDescription[]): string {
  const indent = 4 + Math.max(...keys.map(({ key }) => key.length));
  const lines = keys.flatMap(({ key, description, default: value, required }) => {
    const shown = value !== undefined ? ` [${value}]` : required ? ' [required]' : '';
    return hanging(`  ${key}`, `${description}${shown}`.trimEnd(), indent, terminalWidth());
  });
  return `${lines.join('\n')}\n`;
}
