import { table } from '../../text/table.js';
import { warn } from '../../text/terminal.js';
import { json, plugin, print } from '../common-options.js';
import { group, list, type ValuesOf } from '../options.js';
import { serverExperiment } from '../server-options.js';

export const flags = group('Options', {
  experiment: serverExperiment,
  set: list('Override one of those, e.g. runtime.intraOpThreads=2'),
  plugin,
  json,
});
export const examples = ['config', 'config --experiment tuned.yaml --set runtime.intraOpThreads=2'];
export const notes =
  'Settings come from --set, environment variables, and the experiment file; the first of these that ' +
  'has a value wins. Runtime settings and their environment variables: escapement keys runtime';

/** `escapement config`: effective settings of a server here, and the source of each. */
export async function handler(args: ValuesOf<typeof flags>): Promise<void> {
  const { effectiveSettings, sourceText } = await import('../../config/effective-settings.js');
  const { readServerSettings } = await import('../../config/server-settings.js');
  const { settingsSources, warningsOf } = await import('../live-settings.js');
  const loaded = await readServerSettings(settingsSources(args));
  const settings = effectiveSettings(loaded);
  const warnings = warningsOf(loaded);
  if (!args.json) warn(warnings);
  const rows = settings.map(({ key, value, from }) => [
    key,
    typeof value === 'object' ? JSON.stringify(value) : String(value),
    sourceText(from),
  ]);
  print(args, { settings, warnings }, () => table([['setting', 'value', 'from'], ...rows]));
}
