import type { Argv } from 'yargs';
import { table } from '../../text/table.js';
import { warn, writeOut } from '../../text/terminal.js';
import { json, plugin } from '../common-options.js';
import { type ArgsOf, group, list } from '../options.js';
import { serverExperiment } from '../server-options.js';

export const builder = (yargs: Argv) =>
  yargs
    .options(
      group('Options', {
        experiment: serverExperiment,
        set: list('Override one of those, e.g. runtime.intraOpThreads=2'),
        plugin,
        json,
      }),
    )
    .example([
      ['$0 config', ''],
      ['$0 config --experiment tuned.yaml --set runtime.intraOpThreads=2', ''],
    ])
    .epilogue(
      'Settings come from --set, environment variables, and the experiment file; the first of these that ' +
        'has a value wins. Runtime settings and their environment variables: escapement keys runtime',
    );

/** `escapement config`: effective settings of a server here, and the source of each. */
export async function handler(args: ArgsOf<typeof builder>): Promise<void> {
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
  const text = () => table([['setting', 'value', 'from'], ...rows]);
  writeOut(args.json ? `${JSON.stringify({ settings, warnings })}\n` : text());
}
