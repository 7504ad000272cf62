import { type EffectiveSetting, effectiveSettings, sourceText } from '../../config/effective-settings.js';
import { readServerSettings } from '../../config/server-settings.js';
import { table } from '../../text/table.js';
import { writeOut } from '../../text/terminal.js';
import type { ConfigArgs } from '../commands/config.js';
import { settingsSources, warn, warningsOf } from '../live-settings.js';

/** `escapement config`: the settings that a server would have here, and where each comes from. */
export async function run(args: ConfigArgs): Promise<void> {
  const loaded = await readServerSettings(settingsSources(args));
  const settings = effectiveSettings(loaded);
  const warnings = warningsOf(loaded);
  if (!args.json) warn(warnings);
  writeOut(args.json ? `${JSON.stringify({ settings, warnings })}\n` : configText(settings));
}

function configText(settings: readonly EffectiveSetting[]): string {
  const rows = settings.map(({ key, value, from }) => [key, String(value), sourceText(from)]);
  return table([['setting', 'value', 'from'], ...rows]);
}
