import type { Argv } from 'yargs';
import { json, trustFlags } from '../common-options.js';
import { type ArgsOf, durationOr, group, text, textOr, toggle } from '../options.js';

const builder = (yargs: Argv) =>
  yargs
    .positional('url', textOr('http://127.0.0.1:8002', 'Metrics port of the controller'))
    .options({
      ...group('Options', {
        interval: durationOr('1s', 'Refresh interval, at least 100ms'),
        once: toggle('Print the current state as plain text and exit; implied without a terminal'),
        'token-file': text('File with the token that the controller asks for'),
        json,
      }),
      ...group('Options', trustFlags),
    })
    .example([
      ['$0 top', ''],
      ['$0 top http://10.0.0.1:8002 --once', ''],
      ['$0 top https://10.0.0.1:8002 --ca ca.pem --token-file token', ''],
    ]);

export type TopArgs = ArgsOf<typeof builder>;

export const top = { command: 'top [url]', describe: 'Show the live state of a running controller', builder };
