import { readFileSync } from 'node:fs';
import { parseArgs, styleText } from 'node:util';
import { writeOut } from '../../src/text/terminal.js';
import { plural } from '../../src/text/words.js';
import { CASES, examine, isChosen, type Report, type Verdict } from './examine.js';

/*
 * Whether a server does what the Open Inference Protocol says: `npm run conform -- URL [--grpc HOST:PORT]`. Some cases send
 * malformed and oversized requests: examine a server that may stop, not one that others depend on.
 */

const { values: flags, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    grpc: { type: 'string' },
    model: { type: 'string' },
    only: { type: 'string', multiple: true, default: [] },
    unload: { type: 'boolean', default: false },
    strict: { type: 'boolean', default: false },
    priority: { type: 'string', multiple: true, default: [] },
    'tenant-header': { type: 'string', default: 'x-tenant' },
    'limited-tenant': { type: 'string' },
    'token-file': { type: 'string' },
    seconds: { type: 'string', default: '10' },
  },
});
const [url = ''] = positionals;
const unknown = flags.only.find((name) => !CASES.some(({ id }) => isChosen(id, [name])));

if (!/^https?:\/\//.test(url) || !URL.canParse(url))
  stop('write npm run conform -- http://HOST:PORT [--grpc HOST:PORT]');
else if (unknown !== undefined) stop(`--only ${unknown}: there is no such group or case`);
else await run().catch((error: Error) => stop(error.message));

async function run(): Promise<void> {
  const endpoint = {
    url: new URL(url),
    grpc: flags.grpc ?? null,
    token: flags['token-file'] && readFileSync(flags['token-file'], 'utf8').trim(),
    timeoutMs: 1000 * Number(flags.seconds),
  };
  const report = await examine(endpoint, {
    model: flags.model,
    only: flags.only,
    mayUnload: flags.unload,
    priorities: flags.priority.map(Number),
    tenantHeader: flags['tenant-header'],
    limitedTenant: flags['limited-tenant'],
  });
  writeOut(textOf(report), { colors: true });
  const counted = flags.strict ? [...report.failed, ...report.advised] : report.failed;
  process.exitCode = counted.length === 0 ? 0 : 1;
}

/** A line for each case, and below those that failed what shows it. */
function textOf({ server, model, verdicts, failed, advised }: Report): string {
  const count = (result: string) => verdicts.filter((verdict) => verdict.result === result).length;
  const decided = count('pass') + count('fail') > 0;
  return [
    `${url}: ${server}, model ${model}`,
    ...verdicts.flatMap(linesOf),
    `${count('pass')} passed, ${count('fail')} failed, ${count('absent')} absent, ${count('skipped')} skipped.`,
    failed.length > 0
      ? `The server does not conform: ${plural(failed.length, 'required case')} failed.`
      : decided
        ? 'No required case failed.'
        : 'No case could be decided.',
    ...(advised.length > 0 ? [`Not required, and failed: ${advised.join(', ')}.`] : []),
    '',
  ].join('\n');
}

function linesOf({ id, level, result, reason, exchanges }: Verdict): string[] {
  if (result === 'pass') return [`${styleText('green', '✔')} ${id}`];
  if (result !== 'fail') return [`${styleText('dim', '–')} ${id}: ${result}, ${reason}`];
  return [`${styleText('red', '✘')} ${id} (${level}): ${reason}`, ...exchanges.map((line) => `    ${line}`)];
}

function stop(reason: string): void {
  process.stderr.write(`${reason}\n`);
  process.exitCode = 2;
}
