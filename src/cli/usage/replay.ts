import { list, required, text, toggle, whole, wholeOr } from '../flag.js';
import { type ArgsOf, usageOf } from '../usage.js';
import { json } from './common.js';

export const usage = usageOf({
  arguments: { file: required(text('FILE', 'Journal (--journal of serve, controller or run)')) },
  flags: {
    request: whole(0, 'Explain one request: plan, actions, and why it was late'),
    late: toggle('List the requests that were not answered within their SLO'),
    limit: wholeOr(1, 20, 'Maximum number of requests for --late to list'),
    plugin: list('FILE', 'Module of the policy that scheduled the run, if it was a plugin'),
    json,
  },
  examples: ['replay run.journal --late', 'replay run.journal --request 1234'],
  notes: ['Exit code 47: the replay diverged from the recorded run.'],
});

export type ReplayArgs = ArgsOf<typeof usage>;
