import { CAUSES } from '../../record/causes.js';
import { choice, required, text, whole, wholeOr } from '../flag.js';
import { type ArgsOf, usageOf } from '../usage.js';
import { json } from './common.js';

export const usage = usageOf({
  arguments: {
    dir: required(text('FOLDER', '--out folder of simulate or run; for a journal there is replay')),
  },
  flags: {
    request: whole(0, 'Explain one request: what was known, planned and done, and why it failed'),
    model: text('NAME', 'List failed requests of this model only'),
    class: text('NAME', 'List failed requests of this class only'),
    tenant: text('NAME', 'List failed requests of this tenant only'),
    cause: choice(CAUSES, 'List requests that failed for this cause only'),
    limit: wholeOr(1, 20, 'Maximum number of requests to list'),
    json,
  },
  examples: [
    'explain out/azure-run',
    'explain out/azure-run --model vgg13-1 --cause timedOutCold',
    'explain out/tenants --tenant flood --cause overShare',
    'explain out/azure-run --request 4463',
  ],
});

export type ExplainArgs = ArgsOf<typeof usage>;
