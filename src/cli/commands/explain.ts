import type { Argv } from 'yargs';
import { CAUSES } from '../../record/causes.js';
import { json } from '../common-options.js';
import { type ArgsOf, choice, group, required, text, whole, wholeOr } from '../options.js';

const builder = (yargs: Argv) =>
  yargs
    .positional('dir', required(text('--out folder of simulate or run; for a journal there is replay')))
    .options(
      group('Options', {
        request: whole(0, 'Explain one request: what was known, planned and done, and why it failed'),
        model: text('List failed requests of this model only'),
        class: text('List failed requests of this class only'),
        tenant: text('List failed requests of this tenant only'),
        cause: choice(CAUSES, 'List requests that failed for this cause only'),
        limit: wholeOr(1, 20, 'Maximum number of requests to list'),
        json,
      }),
    )
    .example([
      ['$0 explain out/azure-run', ''],
      ['$0 explain out/azure-run --model vgg13-1 --cause timedOutCold', ''],
      ['$0 explain out/tenants --tenant flood --cause overShare', ''],
      ['$0 explain out/azure-run --request 4463', ''],
    ]);

export type ExplainArgs = ArgsOf<typeof builder>;

export const explain = {
  command: 'explain <dir>',
  describe: 'Explain from the logs why requests of a run failed',
  builder,
};
