import type { Argv } from 'yargs';
import { type EffectiveSetting, effectiveSettings, sourceText } from '../../experiment/effective-settings.js';
import { readServerSettings } from '../../experiment/server-settings.js';
import { wrap } from '../../report/wrap.js';
import { manyValues, oneValue } from '../args.js';
import { warningsOf } from '../live-settings.js';
import { settingsSources } from '../runtime-flags.js';
import { runtimeHelp } from '../runtime-help.js';
import { table, terminalWidth } from '../text-layout.js';

/** `escapement config`: the settings that a server would have here, and where each comes from. */
export function configCommand(cli: Argv): void {
  cli.command(
    'config',
    'Print the settings that a server or worker would have, and where each comes from',
    (command) =>
      command
        .options({
          experiment: oneValue({ describe: 'Experiment file: its slo, policy, admission and runtime' }),
          set: manyValues({ describe: 'Override one of those, e.g. --set runtime.intraOpThreads=2' }),
          json: {
            type: 'boolean',
            default: false,
            describe: 'Print one JSON object on stdout and nothing else',
          },
        })
        .example('$0 config', '')
        .example('ESCAPEMENT_INTRA_OP_THREADS=2 $0 config --experiment tuned.yaml', '')
        .example('$0 config --set runtime.preset=min-memory', '')
        .epilogue(runtimeHelp()),
    async (args) => {
      const loaded = await readServerSettings(settingsSources(args));
      const settings = effectiveSettings(loaded);
      const warnings = warningsOf(loaded);
      process.stdout.write(
        args.json ? `${JSON.stringify({ settings, warnings })}\n` : configText(settings, warnings),
      );
    },
  );
}

function configText(settings: readonly EffectiveSetting[], warnings: readonly string[]): string {
  const rows = settings.map(({ key, value, from }) => [key, String(value), sourceText(from)]);
  const lines = warnings.flatMap((warning) => wrap(`warning: ${warning}`, terminalWidth()));
  const gap = lines.length === 0 ? '' : '\n';
  return table([['setting', 'value', 'from'], ...rows]) + gap + lines.map((line) => `${line}\n`).join('');
}
