import { durationOr, group, text, textOr, toggle } from '../flag.js';
import { type ArgsOf, usageOf } from '../usage.js';
import { json, trustFlags } from './common.js';

export const usage = usageOf({
  arguments: { url: textOr('URL', 'http://127.0.0.1:8002', 'Metrics port of the controller') },
  flags: {
    interval: durationOr('1s', 'Refresh interval, at least 100ms'),
    once: toggle('Print the current state as plain text and exit; implied without a terminal'),
    'token-file': text('FILE', 'File with the token that the controller asks for'),
    ...group('Options', trustFlags),
    json,
  },
  examples: [
    'top',
    'top http://10.0.0.1:8002 --once',
    'top https://10.0.0.1:8002 --ca ca.pem --token-file token',
  ],
});

export type TopArgs = ArgsOf<typeof usage>;
