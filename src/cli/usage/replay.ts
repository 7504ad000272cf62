import { CAUSES } from '../../record/causes.js';
import { choice, list, required, text, toggle, whole, wholeOr } from '../flag.js';
import { type ArgsOf, usageOf } from '../usage.js';
import { json } from './common.js';

export const usage = usageOf({
  arguments: { file: required(text('FILE', 'Journal (--journal of serve, controller or run)')) },
  flags: {
    request: whole(0, 'Explain one request: plan, actions, and why it was late'),
    trace: text('ID', 'Explain the requests of a trace: its id, or a traceparent'),
    late: toggle(
      'List the requests that were not answered within their SLO, and why; --model, --class, --tenant and --cause do the same',
    ),
    model: text('NAME', 'List such requests of this model only'),
    class: text('NAME', 'List such requests of this class only'),
    tenant: text('NAME', 'List such requests of this tenant only'),
    cause: choice(CAUSES, 'List requests that failed for this cause only'),
    limit: wholeOr(1, 20, 'Maximum number of requests to list, and for --trace to explain'),
    plugin: list('FILE', 'Module of the policy that scheduled the run, if it was a plugin'),
    json,
  },
  examples: [
    'replay run.journal --late',
    'replay run.journal --tenant acme --cause overRate',
    'replay run.journal --request 1234',
    'replay run.journal --trace 4bf92f3577b34da6a3ce929d0e0e4736',
  ],
  notes: ['Exit code 47: the replay diverged from the recorded run.'],
});

export type ReplayArgs = ArgsOf<typeof usage>;
