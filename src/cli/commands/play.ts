import type { Argv } from 'yargs';
import { json, overrideFlags } from '../common-options.js';
import { type ArgsOf, group, text, toggle, wholeOr } from '../options.js';

const { set, seed } = overrideFlags;

const builder = (yargs: Argv) =>
  yargs
    .positional('file', text('Experiment file (YAML); - reads standard input; default: a built-in one'))
    .options({
      ...group('Experiment', { set, seed }),
      ...group('Page', {
        port: wholeOr(0, 0, 'Port on this machine; 0: any free port'),
        open: { ...toggle('Open a browser; --no-open: do not'), default: true },
        html: text('Write the page to this file, which needs no server and no network, and exit'),
      }),
      ...group('Output', { json }),
    })
    .example([
      ['$0 play', ''],
      ['$0 play experiments/schedule-ahead.yaml --set slo=25ms', ''],
      ['$0 play experiments/mixed-slos.yaml --html mixed-slos.html', ''],
    ]);

export type PlayArgs = ArgsOf<typeof builder>;

export const play = {
  command: 'play [file]',
  describe: 'Open a web page that runs the scheduler, to try things out',
  builder,
};
