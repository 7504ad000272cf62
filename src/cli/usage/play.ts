import { group, text, toggle, wholeOr } from '../flag.js';
import { type ArgsOf, usageOf } from '../usage.js';
import { json, overrideFlags } from './common.js';

const { set, seed } = overrideFlags;

export const usage = usageOf({
  arguments: {
    file: text('FILE', 'Experiment file (YAML); - reads standard input; default: a built-in one'),
  },
  flags: {
    ...group('Experiment', { set, seed }),
    ...group('Page', {
      port: wholeOr(0, 0, 'Port on this machine; 0: any free port'),
      'no-open': toggle('Do not open a browser'),
      html: text('FILE', 'Write the page to this file, which needs no server and no network, and exit'),
    }),
    ...group('Output', { json }),
  },
  examples: [
    'play',
    'play experiments/schedule-ahead.yaml --set slo=25ms',
    'play experiments/mixed-slos.yaml --html mixed-slos.html',
  ],
});

export type PlayArgs = ArgsOf<typeof usage>;
