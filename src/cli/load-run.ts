import { EscapementError } from '../base/errors.js';
import { NS_PER_S } from '../base/units.js';
import type { Experiment } from '../config/experiment.js';
import { openTarget } from '../load/open-target.js';
import { readPayloads } from '../load/payloads.js';
import type { PlayCounts } from '../load/player.js';
import type { LoadTarget, TargetOptions } from '../load/target.js';
import { generatorLines, generatorWarnings } from '../report/generator.js';
import { quoted } from '../report/reproduce.js';
import { type LoadResult, playExperiment } from '../run/load-experiment.js';
import { plural } from '../text/words.js';
import { openProgress } from './progress.js';
import { inRunFolder, loadOrigin } from './run-folder.js';
import { read, tokenOf } from './token.js';

/** Narrow, to leave room for the status text. */
const BAR_COLUMNS = 10;

/** A finished load. */
export interface PlayedLoad extends LoadResult {
  /** Assumptions about the server, as lines for people; may be empty. */
  readonly assumed: string;
  /** Reliability of the figures, since a generator that lags measures itself; lines or empty. */
  readonly notes: string;
  /** Warnings that the figures are unreliable; shown even with --quiet. */
  readonly warnings: readonly string[];
  /** Text about requests that the server left unanswered; empty if none. */
  readonly lost: string;
}

/** Plays an experiment against the server of `--url`, with a progress line, and writes its folder. */
export async function playLoad(experiment: Experiment, args: LoadArgs): Promise<PlayedLoad> {
  const target = await openTarget(args.url, await targetOptions(experiment, args));
  try {
    const { result, report } = await play(experiment, target, args);
    return {
      result,
      report,
      assumed: linesOf(target.assumed ?? []),
      notes: linesOf(generatorLines(result)),
      warnings: generatorWarnings(result),
      lost: lostText(report, target.name),
    };
  } finally {
    target.close();
  }
}

/** Flags that repeat the load, as typed. A token comes from a file, so it does not appear here. */
function flagsOf({
  url,
  connections,
  retry,
  payload,
  'token-file': token,
  ca,
  insecure,
}: LoadArgs): string[] {
  return [
    `--url ${quoted(withoutPassword(url))}`,
    ...(connections === undefined ? [] : [`--connections ${connections}`]),
    ...(retry ? ['--retry'] : []),
    ...(payload === undefined ? [] : [`--payload ${quoted(payload)}`]),
    ...(token === undefined ? [] : [`--token-file ${quoted(token)}`]),
    ...(ca === undefined ? [] : [`--ca ${quoted(ca)}`]),
    ...(insecure ? ['--insecure'] : []),
  ];
}

function withoutPassword(address: string): string {
  const url = new URL(address);
  if (url.username === '' && url.password === '') return address;
  url.username = '';
  url.password = '';
  return url.href;
}

export interface LoadArgs {
  readonly url: string;
  readonly quiet: boolean;
  readonly out: string | undefined;
  readonly percentiles: readonly number[];
  readonly connections: number | undefined;
  readonly retry: boolean;
  readonly payload: string | undefined;
  readonly 'token-file': string | undefined;
  readonly ca: string | undefined;
  readonly insecure: boolean;
}

async function play(experiment: Experiment, target: LoadTarget, args: LoadArgs): Promise<LoadResult> {
  const { quiet, out, percentiles } = args;
  const progress = openProgress('load', quiet, BAR_COLUMNS);
  const live = new LoadLine();
  const onProgress = (fraction: number, counts: PlayCounts, nowNs: number) =>
    progress.update(fraction, process.stderr.isTTY ? live.text(counts, nowNs) : '');
  try {
    return await inRunFolder(
      out,
      async (outDir) => {
        const options = { onProgress, percentiles, ...(outDir === undefined ? {} : { outDir }) };
        const { result, report } = await playExperiment(experiment, target, options);
        return { result: { ...result, origin: loadOrigin(target.name, flagsOf(args)) }, report };
      },
      ({ result }) => result,
    );
  } finally {
    progress.stop();
  }
}

async function targetOptions(
  experiment: Experiment,
  args: Omit<LoadArgs, 'percentiles'>,
): Promise<TargetOptions> {
  const { connections, retry, payload, ca, insecure } = args;
  const token = await tokenOf(args);
  const models = experiment.models.map(({ name }) => name);
  return {
    models,
    ...(payload === undefined ? {} : { payloads: readPayloads(payload, models) }),
    ...sendersOf(experiment),
    seed: experiment.seed,
    ...(connections === undefined ? {} : { connections }),
    ...(token === null ? {} : { token }),
    ...(ca === undefined ? {} : { ca: await read(ca, 'ca') }),
    retry,
    insecure,
  };
}

/** Throws `E_CONFIG_VALUE` for a class of a workload that requests to a server cannot name. */
function sendersOf({ classes, tenants, workloads, file }: Experiment): Pick<TargetOptions, 'senders'> {
  if (classes.length === 0 && tenants.list.length === 0) return {};
  const nameless = classes.find(
    ({ name, priorities }, i) =>
      i > 0 && priorities.length === 0 && workloads.some((section) => section.class === name),
  );
  if (nameless !== undefined) {
    const what = `class ${nameless.name} has no priority, so a server cannot be asked for it: give it the one that the server knows`;
    throw new EscapementError('E_CONFIG_VALUE', what, { file, key: 'classes' });
  }
  const priorities = classes.map(({ priorities: [first = null] }) => first);
  const names = tenants.list.map(({ name }) => name);
  return { senders: { priorities, header: names.length === 0 ? null : tenants.header, tenants: names } };
}

function linesOf(lines: readonly string[]): string {
  return lines.map((line) => `load: ${line}\n`).join('');
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
    ...said(neverSent, 'never sent for want of a connection', problems.neverSent),
    ...said(givenUp, 'sent and never answered'),
  ].join('; ');
}

/** Throws `E_ANSWERS_LOST` if requests had no answer; `missed`: thresholds that were missed as well. */
export function refuseLost(lost: string, missed: string): void {
  if (lost === '') return;
  throw new EscapementError('E_ANSWERS_LOST', [lost, ...(missed === '' ? [] : [missed])].join('; '));
}

/** Period over which the rate is computed. */
const WINDOW_NS = NS_PER_S;

/** Status line of a load; the rate is that of the last second. */
export class LoadLine {
  private readonly recent: { readonly atNs: number; readonly ok: number }[] = [];

  /** Call periodically, with the time since the start. */
  text({ sent, inFlight, ok, late, failed }: PlayCounts, nowNs: number): string {
    this.recent.push({ atNs: nowNs, ok });
    while (this.recent.length > 2 && this.recent[1]!.atNs <= nowNs - WINDOW_NS) this.recent.shift();
    const first = this.recent[0]!;
    const seconds = (nowNs - first.atNs) / NS_PER_S;
    const rate = seconds > 0 ? Math.round((ok - first.ok) / seconds) : 0;
    return `${sent} sent, ${inFlight} in flight, ${rate} ok/s, ${late} late, ${failed} failed`;
  }
}
