import type { Argv } from 'yargs';
import { loadResults, runSummaryText, sweepSummaryText, writeRunReport, writeSweepReport } from '../../report/index.js';

/** `escapement report DIR`: draws the charts and the report of a results folder again. */
export function reportCommand(cli: Argv): void {
  cli.command(
    'report <dir>',
    'Draw charts and report.html from the results of a sweep or of simulate --out',
    (command) =>
      command
        .positional('dir', { type: 'string', demandOption: true, describe: 'Folder with results.json or run.json' })
        .example('$0 report out/azure', ''),
    async ({ dir }) => {
      const loaded = loadResults(dir);
      const text = loaded.kind === 'sweep' ? sweepSummaryText(loaded.results) : runSummaryText(loaded.run);
      const path = loaded.kind === 'sweep' ? await writeSweepReport(loaded.results, dir) : await writeRunReport(loaded.run, dir);
      process.stdout.write(`${text}\nreport: ${path}\n`);
    },
  );
}
