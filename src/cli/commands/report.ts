import type { Argv } from 'yargs';
/** `escapement report DIR`: draws the charts and the report of a results folder again. */
export function reportCommand(cli: Argv): void {
  cli.command(
    'report <dir>',
    'Draw charts and report.html from the results of a sweep or of simulate --out',
    (command) =>
      command
        .positional('dir', {
          type: 'string',
          demandOption: true,
          describe: 'Folder with results.json or run.json',
        })
        .example('$0 report out/azure', ''),
    async ({ dir }) => {
      // Charts bring half a second of libraries with them: other commands do without.
      const { loadResults, summaryText, writeRunReport, writeSweepReport } = await import(
        '../../report/index.js'
      );
      const loaded = loadResults(dir);
      const [report] =
        loaded.kind === 'sweep'
          ? await writeSweepReport(loaded.results, dir)
          : await writeRunReport(loaded.run, dir);
      process.stdout.write(summaryText(loaded.kind === 'sweep' ? loaded.results : loaded.run));
      process.stdout.write(`report: ${report}\n`);
    },
  );
}
