import type { Argv } from 'yargs';
import { CAUSES } from '../../record/causes.js';
import { json } from '../common-options.js';
import { type ArgsOf, choice, group, list, required, text, toggle, whole, wholeOr } from '../options.js';

const builder = (yargs: Argv) =>
  yargs
    .positional('file', required(text('Journal (--journal of serve, controller or run)')))
    .options(
      group('Options', {
        request: whole(0, 'Explain one request: plan, actions, and why it was late'),
        trace: text('Explain the requests of a trace: its id, or a traceparent'),
        late: toggle(
          'List the requests that were not answered within their SLO, and why; --model, --class, --tenant and --cause do the same',
        ),
        model: text('List such requests of this model only'),
        class: text('List such requests of this class only'),
        tenant: text('List such requests of this tenant only'),
        cause: choice(CAUSES, 'List requests that failed for this cause only'),
        limit: wholeOr(1, 20, 'Maximum number of requests to list, and for --trace to explain'),
        plugin: list('Module of the policy that scheduled the run, if it was a plugin'),
        json,
      }),
    )
    .example([
      ['$0 replay run.journal --late', ''],
      ['$0 replay run.journal --tenant acme --cause overRate', ''],
      ['$0 replay run.journal --request 1234', ''],
      ['$0 replay run.journal --trace 4bf92f3577b34da6a3ce929d0e0e4736', ''],
    ])
    .epilogue('Exit code 47: the replay diverged from the recorded run.');

export type ReplayArgs = ArgsOf<typeof builder>;

export const replay = {
  command: 'replay <file>',
  describe: 'Replay the journal of a live run through the scheduler',
  builder,
};
