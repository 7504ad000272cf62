import { EscapementError } from '../base/errors.js';
import type { Experiment } from '../config/experiment.js';
import { targetNames } from '../config/pipelines.js';
import { openTarget } from '../load/open-target.js';
import { readPayloads } from '../load/payloads.js';
import type { PlayCounts } from '../load/player.js';
import type { TargetOptions } from '../load/target.js';
import { figureOf } from '../record/figures.js';
import { generatorLines } from '../report/generator.js';
import { quoted } from '../report/reproduce.js';
import { type LoadResult, playExperiment } from '../run/load-experiment.js';
import { plural } from '../text/words.js';
import type { loadFlags } from './common-options.js';
import { usageError, type ValuesOf } from './options.js';
import { openProgress } from './progress.js';
import { environment, type OutputArgs, originOf, performRun } from './run-folder.js';
import type { CheckedExperiment } from './thresholds.js';
import { accessOf } from './token.js';

/** Narrow, to leave room for the status text. */
const BAR_COLUMNS = 10;

type LoadArgs = ValuesOf<typeof loadFlags> & OutputArgs;

/**
 * Plays an experiment against the server of `--url`, with a progress line, and prints its figures. Throws
 * `E_ANSWERS_LOST` and `E_THRESHOLD` last, after everything is written.
 */
export async function playLoad(checked: CheckedExperiment, args: LoadArgs): Promise<void> {
  const { experiment, checks } = checked;
  const unseen = checks.thresholds.find(({ metric }) => figureOf(metric)?.ofScheduler === true);
  if (unseen !== undefined) {
    const what = `only the scheduler knows ${unseen.metric}, and load measures as a client`;
    throw usageError(`--threshold '${unseen.text}': ${what}`);
  }
  const target = await openTarget(args.url, await targetOptions(experiment, args));
  const progress = openProgress('load', args.quiet, BAR_COLUMNS);
  const onProgress = (fraction: number, { sent, inFlight, ok, late, failed }: PlayCounts) => {
    const counts = `${sent} sent, ${inFlight} in flight, ${ok} ok, ${late} late, ${failed} failed`;
    progress.update(fraction, process.stderr.isTTY ? counts : '');
  };
  await performRun('load', checked, args, async (options) => {
    const playing = playExperiment(experiment, target, { ...options, onProgress }).finally(progress.stop);
    const { result, report } = await playing;
    const own = { url: target.name, flags: flagsOf(args), environment: environment() };
    // A generator that lags measures itself, not the server.
    const lines = generatorLines(result).map((line) => `load: ${line}`);
    return { result: { ...result, origin: originOf(own) }, lines, lost: lostText(report, target.name) };
  }).finally(() => target.close());
}

/** Flags that repeat the load, as typed. A token comes from a file, so it does not appear here. */
function flagsOf({ url, ...args }: LoadArgs): string[] {
  const address = new URL(url);
  const isSecret = address.username !== '' || address.password !== '';
  Object.assign(address, { username: '', password: '' });
  return [
    `--url ${quoted(isSecret ? address.href : url)}`,
    ...(['connections', 'retry', 'payload', 'token-file', 'ca', 'insecure'] as const).flatMap((name) => {
      const value = args[name];
      if (value === undefined || value === false) return [];
      const text = typeof value === 'object' ? value.path : String(value);
      return value === true ? [`--${name}`] : [`--${name} ${quoted(text)}`];
    }),
  ];
}

async function targetOptions(experiment: Experiment, args: LoadArgs): Promise<TargetOptions> {
  const { connections, retry, payload } = args;
  const models = targetNames(experiment.models, experiment.pipelines);
  return {
    ...{ models, retry, seed: experiment.seed, ...(await accessOf(args)), ...sendersOf(experiment) },
    ...(payload === undefined ? {} : { payloads: readPayloads(payload, models) }),
    ...(connections === undefined ? {} : { connections }),
  };
}

/** Throws `E_CONFIG_VALUE` for a class without a priority, by which requests to a server name their class. */
function sendersOf({ classes, tenants, workloads, file }: Experiment): Pick<TargetOptions, 'senders'> {
  if (classes.length === 0 && tenants.list.length === 0) return {};
  const nameless = classes.find(
    ({ name, priorities }, i) =>
      i > 0 && priorities.length === 0 && workloads.some((section) => section.class === name),
  );
  if (nameless !== undefined) {
    const what = `class ${nameless.name} has no priority, by which requests to a server name their class: set the one that the server uses`;
    throw new EscapementError('E_CONFIG_VALUE', what, { file, key: 'classes' });
  }
  const priorities = classes.map(({ priorities: [first = null] }) => first);
  const names = tenants.list.map(({ name }) => name);
  return { senders: { priorities, header: names.length === 0 ? null : tenants.header, tenants: names } };
}

function lostText({ unanswered, problems }: LoadResult['report'], name: string): string {
  const { neverSent, lost, givenUp } = unanswered;
  const said = (count: number, what: string, problem = '') =>
    count === 0
      ? []
      : [
          `${plural(count, 'request')} to ${name} ${count === 1 ? 'was' : 'were'} ${what}${problem === '' ? '' : ` (${problem})`}`,
        ];
  return [
    ...said(lost, 'lost when the connection broke', problems.lost),
    ...said(neverSent, 'never sent because no connection was free or could be opened', problems.neverSent),
    ...said(givenUp, 'sent and never answered'),
  ].join('; ');
}
