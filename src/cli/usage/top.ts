import { durationOr, text, textOr, toggle } from '../flag.js';
import { type ArgsOf, usageOf } from '../usage.js';
import { json } from './common.js';

export const usage = usageOf({
  arguments: { url: textOr('URL', 'http://127.0.0.1:8002', 'Metrics port of the controller') },
  flags: {
    interval: durationOr('1s', 'Refresh interval, at least 100ms'),
    once: toggle('Print the current state as plain text and exit; implied without a terminal'),
    'token-file': text('FILE', 'File with the token that the controller asks for'),
    json,
  },
  examples: ['top', 'top http://10.0.0.1:8002 --once'],
});

export type TopArgs = ArgsOf<typeof usage>;
