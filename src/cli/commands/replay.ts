import { EscapementError } from '../../base/errors.js';
import { NS_PER_MS, NS_PER_S } from '../../base/units.js';
import type { PolicyChoice } from '../../config/schema-policy.js';
import { OUTCOME_NAMES } from '../../core/request.js';
import { FlightRecorder } from '../../live/journal/flight-recorder.js';
import type { JournalHeader } from '../../live/journal/journal-header.js';
import { OutcomeList } from '../../live/journal/outcome-list.js';
import type { Replay } from '../../live/journal/replay.js';
import { ReplayTimeline } from '../../live/journal/replay-timeline.js';
import type { Plugin } from '../../policies/entry.js';
import { fanOut } from '../../record/fan-out.js';
import { explain, flightText } from '../../record/flight/explain.js';
import { pipelineText } from '../../record/flight/pipeline-flight.js';
import { causesText } from '../../report/generator.js';
import { formatCount, rounded, toMs } from '../../text/numbers.js';
import { table } from '../../text/table.js';
import { writeErr, writeOut } from '../../text/terminal.js';
import { plural } from '../../text/words.js';
import { json } from '../common-options.js';
import { duration, group, list, required, text, toggle, usageError, type ValuesOf } from '../options.js';
import { checkOutputFlags } from '../output-flags.js';
import { failedText, filterOf, filterOptions, refuseUnknown } from '../request-filters.js';

export const flags = {
  file: required(text('Journal (--journal of serve, controller or run)')),
  ...group('Options', {
    late: toggle(
      'List the requests that were not answered within their SLO, and why; implied by --model, --class, --tenant and --cause',
    ),
    ...filterOptions('such requests', 'plan, actions, and why it was late'),
    timeline: text('Write the actions and requests to this file, for https://ui.perfetto.dev'),
    from: { ...duration('Start of the timeline, since that of the journal', '0s'), implies: 'timeline' },
    to: { ...duration('End of the timeline', 'the end'), implies: 'timeline' },
    plugin: list('Module of the policy that scheduled the run, if it was a plugin'),
    json,
  }),
};
export const examples = [
  'replay run.journal --late',
  'replay run.journal --tenant acme --cause overRate',
  'replay run.journal --request 1234',
  'replay run.journal --timeline incident.json --from 95s --to 100s',
];
export const notes = 'Exit code 47: the replay diverged from the recorded run.';

type Args = ValuesOf<typeof flags>;

/** Smallest time until the scheduler received a request that gets a column. */
const WORTH_NS = NS_PER_MS;
const DECODING_NOTE =
  'decoding: from the first byte of a request until its body was decoded and the scheduler had it; if small bodies take long, too, the server lacks CPU time\n';

/** `escapement replay FILE`: re-runs the scheduler on the inputs that a live controller recorded. */
export async function handler(args: Args): Promise<void> {
  const { createPolicyOf } = await import('../../config/create-policy.js');
  const { ON_DISK } = await import('../../config/files-on-disk.js');
  const { loadPluginFiles } = await import('../../config/plugins.js');
  const { replayJournal } = await import('../../live/journal/replay.js');
  const { file, request } = args;
  checkOutputFlags({ timeline: args.timeline }, [file]);
  const recorder = request === undefined ? null : new FlightRecorder(request);
  const plugins = await loadPluginFiles(args.plugin, ON_DISK);
  let header!: JournalHeader;
  const isListed = args.late || filterOf(args) !== undefined;
  const outcomes = new OutcomeList(isListed ? args.limit : 0, args);
  const { timeline: path, from = 0, to = Number.POSITIVE_INFINITY } = args;
  if (to <= from) throw usageError('--to: must be later than --from');
  const timeline = path === undefined ? null : new ReplayTimeline(path, from, to);
  const watchers = [outcomes, recorder, timeline].filter((watcher) => watcher !== null);
  const replay = await replayJournal(file, {
    createPolicy: (recorded, context) => {
      header = recorded;
      const { classes = [], tenants = [] } = recorded;
      const namesOf = (list: readonly { readonly name: string }[]) => list.map(({ name }) => name);
      refuseUnknown('class', args, namesOf(classes));
      refuseUnknown('tenant', args, namesOf(tenants));
      return createPolicyOf(recordedPolicy(recorded, plugins))(context);
    },
    observer: fanOut(watchers),
    watchers,
  }).catch((error) => {
    timeline?.discard();
    throw error;
  });
  timeline?.close();
  const flight = recorder?.flight ?? null;
  const ofPipeline = recorder?.pipelineFlight ?? null;
  refuseUnknown('model', args, [...outcomes.models]);
  if (request !== undefined && flight === null) {
    const there = replay.requests === 0 ? 'it has none' : `they are 0 to ${replay.requests - 1}`;
    throw usageError(`--request ${request}: the journal has no such request; ${there}`);
  }
  if (args.json) {
    const counts = OUTCOME_NAMES.map((name, outcome) => [name, outcomes.counts[outcome]]);
    const facts = {
      ...{ ...replay, outcomes: Object.fromEntries(counts), failures: outcomes.failures },
      ...(header.tenants === undefined ? {} : { tenants: outcomes.tenants }),
      ...(isListed ? { late: outcomes.missed } : {}),
      ...(flight === null ? {} : { flight: ofPipeline ?? { ...flight, why: explain(flight) } }),
    };
    writeOut(`${JSON.stringify(facts)}\n`);
  } else {
    writeOut(replayText(file, header, replay, outcomes));
    if (timeline !== null)
      writeOut(
        `\n${path}: ${plural(timeline.actions, 'action')} and ${plural(timeline.requests, 'request')}\n`,
      );
    if (isListed) writeOut(lateText(args, outcomes, replay));
    if (flight !== null) writeOut(`\n${ofPipeline === null ? flightText(flight) : pipelineText(ofPipeline)}`);
  }
  if (replay.truncated || replay.digest === replay.recordedDigest) return;
  const what = `the replay diverged from the recording: digest ${replay.digest}, recorded ${replay.recordedDigest}; the journal is damaged or edited, or was written by another version of escapement`;
  throw new EscapementError('E_REPLAY_DIFFERS', what, { file });
}

/** Policy named by the journal. Throws `E_PLUGIN` if it came from a plugin that was not given. */
function recordedPolicy(
  { policy: { kind, options, plugin } }: JournalHeader,
  plugins: readonly Plugin[],
): PolicyChoice {
  if (plugin === undefined) return { kind, options };
  const own = plugins.find(({ policies }) => policies.some((entry) => entry.kind === kind));
  if (own === undefined) {
    const what = `the run was scheduled by the policy ${kind} of the plugin ${plugin.file}: give it with --plugin`;
    throw new EscapementError('E_PLUGIN', what);
  }
  if (own.digest !== plugin.digest)
    writeErr(`warning: the plugin ${own.file} has changed since the run: the replay may differ\n`);
  return { kind, options, plugin: own };
}

function replayText(path: string, header: JournalHeader, replay: Replay, outcomes: OutcomeList): string {
  const { policy, gpus, admission } = header;
  const { digest, recordedDigest } = replay;
  const recorded =
    recordedDigest === null
      ? 'none: the journal is incomplete, as its process was killed or still runs; replayed up to its last whole line'
      : `${recordedDigest}, ${recordedDigest === digest ? 'the same' : 'DIFFERENT'}`;
  return table([
    ['journal', path],
    ['cluster', `${plural(gpus, 'GPU')}, ${plural(replay.models, 'model')}, ${header.pages} pages`],
    ['policy', admission === 'none' ? policy.kind : `${policy.kind}, admission by prediction`],
    ['length', `${rounded(replay.endNs / NS_PER_S, 3)} s, ${replay.steps} steps`],
    ['requests', String(replay.requests)],
    ['outcomes', OUTCOME_NAMES.map((name, outcome) => `${name} ${outcomes.counts[outcome]}`).join(', ')],
    ...outcomes.tenants.map(({ name, requests, ok, failures }, i) => [
      i === 0 ? 'tenants' : '',
      [`${name}: ${plural(requests, 'request')}, ${formatCount(ok)} in time`, causesText(failures)]
        .filter((text) => text !== '')
        .join(', '),
    ]),
    ...(replay.unanswered === 0
      ? []
      : [['no answer', `${plural(replay.unanswered, 'request')} at the end of the journal`]]),
    ['digest', digest],
    ['recorded', recorded],
  ]);
}

function lateText(
  { file, ...args }: Args,
  { counts, missed, missedCount }: OutcomeList,
  { unanswered }: Replay,
): string {
  if (missed.length === 0) {
    if (filterOf(args) !== undefined) return '\nno matching request failed\n';
    if (counts.every((count) => count === 0)) return '\nno request was answered\n';
    return `\nevery ${unanswered === 0 ? '' : 'answered '}request was answered within its SLO\n`;
  }
  const options = { total: missedCount, command: `escapement replay ${file}` };
  if (missed.every(({ decodingNs }) => decodingNs < WORTH_NS)) return `\n${failedText(missed, options)}`;
  const decoding = { 'decoding ms': ({ decodingNs }: (typeof missed)[number]) => toMs(decodingNs) };
  return `\n${failedText(missed, { ...options, note: DECODING_NOTE }, decoding)}`;
}
