import { basename, normalize } from 'node:path';
import { EscapementError } from '../../base/errors.js';
import { nameWithoutNumber, numberedFiles } from '../../base/files/numbered-files.js';
import { NS_PER_MS, NS_PER_S } from '../../base/units.js';
import { createPolicyOf } from '../../config/create-policy.js';
import { ON_DISK } from '../../config/files-on-disk.js';
import { loadPluginFiles } from '../../config/plugins.js';
import type { PolicyChoice } from '../../config/schema-policy.js';
import { OUTCOME_NAMES } from '../../core/request.js';
import { FlightRecorder } from '../../live/journal/flight-recorder.js';
import type { JournalHeader } from '../../live/journal/journal-header.js';
import { OutcomeList } from '../../live/journal/outcome-list.js';
import { type Replay, replayJournal } from '../../live/journal/replay.js';
import { requestsOfTrace, traceIdOf } from '../../live/journal/trace-requests.js';
import type { Plugin } from '../../policies/entry.js';
import { CAUSE_LABELS } from '../../record/causes.js';
import { fanOut } from '../../record/fan-out.js';
import { explain } from '../../record/flight/explain.js';
import type { Flight } from '../../record/flight/flight.js';
import { flightText } from '../../record/flight/flight-text.js';
import { causesText } from '../../report/hurt-text.js';
import { formatCount, rounded, toMs, toSeconds } from '../../text/numbers.js';
import { table } from '../../text/table.js';
import { writeOut } from '../../text/terminal.js';
import { plural } from '../../text/words.js';
import type { ReplayArgs } from '../commands/replay.js';
import { warn } from '../live-settings.js';
import { FILTERS, senderIndex, unknownModel } from '../request-filters.js';

/** Journals of the same name that are listed one by one. */
const MOST_NAMES = 6;
/** From here on, the time until the scheduler had a request gets a column. */
const WORTH_NS = NS_PER_MS;
const DECODING_NOTE =
  'decoding: from the first byte of a request until its body was decoded and the scheduler had it; long for small bodies, too: the server lacks CPU time';

/** `escapement replay FILE`: re-runs the scheduler on the inputs that a live controller recorded. */
export async function run(args: ReplayArgs): Promise<void> {
  const isListed = args.late || FILTERS.some((name) => args[name] !== undefined);
  const recorders = (
    await requestsAsked(args).catch((error) => Promise.reject(withOthers(error, args.file)))
  ).map((request) => new FlightRecorder(request));
  const plugins = await loadPluginFiles(args.plugin, ON_DISK);
  let header!: JournalHeader;
  const outcomes = new OutcomeList(isListed ? args.limit : 0, args);
  const replay = await replayJournal(args.file, {
    createPolicy: (recorded, context) => {
      header = recorded;
      refuseUnknown(recorded, args);
      return createPolicyOf(recordedPolicy(recorded, plugins))(context);
    },
    observer: fanOut([outcomes, ...recorders]),
    watchers: [outcomes, ...recorders],
  }).catch((error) => Promise.reject(withOthers(error, args.file)));
  const journals = journalsOf(args.file);
  const flights = recorders.flatMap(({ flight }) => flight ?? []);
  if (args.model !== undefined && !outcomes.models.has(args.model))
    throw unknownModel(args.model, [...outcomes.models]);
  if (args.request !== undefined && flights.length === 0) throw noRequest(args.request, replay.requests);
  const differs = !replay.truncated && replay.digest !== replay.recordedDigest;
  if (args.json) {
    const counts = OUTCOME_NAMES.map((name, outcome) => [name, outcomes.counts[outcome]]);
    const facts = {
      ...replay,
      journals,
      outcomes: Object.fromEntries(counts),
      failures: outcomes.failures,
      ...(header.tenants === undefined ? {} : { tenants: outcomes.tenants }),
      ...(isListed ? { late: outcomes.missed } : {}),
      ...storiesOf(args, flights),
    };
    writeOut(`${JSON.stringify(facts)}\n`);
  } else {
    writeOut(replayText(args.file, journals, header, replay, outcomes));
    if (isListed) writeOut(lateText(args, outcomes));
    for (const flight of flights) writeOut(`\n${flightText(flight)}`);
  }
  if (differs) {
    const what = `the replay diverged from the recording: digest ${replay.digest}, recorded ${replay.recordedDigest}; the journal is damaged or edited, or was written by another version of escapement`;
    throw new EscapementError('E_REPLAY_DIFFERS', what, { file: args.file });
  }
}

/** Requests that are to be explained. Throws `E_USAGE` if the journal has none of the trace. */
async function requestsAsked(args: ReplayArgs): Promise<readonly number[]> {
  const { file, request, trace, limit } = args;
  const filter = FILTERS.find((name) => args[name] !== undefined);
  const asked = request === undefined ? 'trace' : 'request';
  if (filter !== undefined && args[asked] !== undefined)
    throw new EscapementError('E_USAGE', `--${asked} and --${filter} cannot be combined`);
  if (trace === undefined) return request === undefined ? [] : [request];
  if (request !== undefined) throw new EscapementError('E_USAGE', '--request and --trace cannot be combined');
  const id = traceIdOf(trace);
  if (id === null) {
    const what = `--trace ${trace}: must be a trace id, 32 hexadecimal digits, or a whole traceparent`;
    throw new EscapementError('E_USAGE', what);
  }
  const requests = await requestsOfTrace(file, id);
  if (requests.length > 0) return requests.slice(0, limit);
  const what = `--trace ${trace}: no request of the journal belongs to it; requests do whose client sent a traceparent`;
  throw new EscapementError('E_USAGE', what);
}

/** Throws `E_USAGE` for a class or a tenant that the run does not have. */
function refuseUnknown({ classes = [], tenants = [] }: JournalHeader, args: ReplayArgs): void {
  const names = (list: readonly { readonly name: string }[]) => list.map(({ name }) => name);
  senderIndex('class', names(classes), args.class);
  senderIndex('tenant', names(tenants), args.tenant);
}

function storiesOf({ trace }: ReplayArgs, flights: readonly Flight[]): object {
  const stories = flights.map((flight) => ({ ...flight, why: explain(flight) }));
  if (trace !== undefined) return { flights: stories };
  return stories.length === 0 ? {} : { flight: stories[0] };
}

/** The policy that the journal names. Throws `E_PLUGIN` where it came from a plugin that was not given. */
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
    warn([`the plugin ${own.file} was changed since the run: a replay may differ`]);
  return { kind, options, plugin: own };
}

function replayText(
  path: string,
  journals: readonly string[],
  header: JournalHeader,
  replay: Replay,
  outcomes: OutcomeList,
): string {
  const { policy, gpus, admission } = header;
  const { digest, recordedDigest } = replay;
  const recorded =
    recordedDigest === null
      ? 'none: the journal is incomplete, as its process was killed or still runs; replayed up to its last whole line'
      : `${recordedDigest}, ${recordedDigest === digest ? 'the same' : 'DIFFERENT'}`;
  return table([
    ['journal', path],
    ...(journals.length < 2 ? [] : [['one of', listed(journals)]]),
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
      : [['no answer', `${replay.unanswered} requests at the end of the journal`]]),
    ['digest', digest],
    ['recorded', recorded],
  ]);
}

/** All journals of the same name, oldest first. */
function journalsOf(path: string): string[] {
  const name = nameWithoutNumber(path);
  const paths = (of: string) => numberedFiles(of).map((file) => file.path);
  const own = paths(path);
  return own.length > 1 || name === null ? own : paths(name);
}

function listed(journals: readonly string[]): string {
  const names = journals.map((path) => basename(path));
  const few = names.length <= MOST_NAMES ? names : [...names.slice(0, 2), '…', ...names.slice(-2)];
  return `${names.length} journals, oldest first: ${few.join(', ')}`;
}

/** Where there is no such journal, those that there are. */
function withOthers(error: unknown, path: string): unknown {
  const others = journalsOf(path);
  const missing = error instanceof EscapementError && error.code === 'E_FILE_MISSING';
  if (!missing || others.length === 0 || others.includes(normalize(path))) return error;
  return new EscapementError('E_FILE_MISSING', `no such file; found ${listed(others)}`, { file: path });
}

function lateText({ file, ...args }: ReplayArgs, { missed, missedCount }: OutcomeList): string {
  const isFiltered = FILTERS.some((name) => args[name] !== undefined);
  if (missed.length === 0)
    return isFiltered ? '\nno matching request failed\n' : '\nevery request was answered within its SLO\n';
  const senders = (['class', 'tenant'] as const).filter((name) => missed[0]![name] !== undefined);
  const isDecoded = missed.some(({ decodingNs }) => decodingNs >= WORTH_NS);
  const rows = missed.map(({ request, model, cause, arrivalNs, sloNs, decodingNs, latencyNs, ...sender }) => [
    request,
    model,
    ...senders.map((name) => sender[name]!),
    CAUSE_LABELS[cause],
    toSeconds(arrivalNs),
    ...(isDecoded ? [toMs(decodingNs)] : []),
    toMs(latencyNs),
    toMs(sloNs),
  ]);
  const names = ['request', 'model', ...senders, 'cause', 'arrival s'];
  const times = [...(isDecoded ? ['decoding ms'] : []), 'latency ms', 'SLO ms'];
  const rest = missedCount - missed.length;
  const more = rest > 0 ? `and ${rest} more; a higher --limit shows them\n` : '';
  const note = isDecoded ? `${DECODING_NOTE}\n` : '';
  return `\n${table([[...names, ...times], ...rows])}${more}${note}To explain one: escapement replay ${file} --request ${missed[0]!.request}\n`;
}

function noRequest(request: number, requests: number): EscapementError {
  const there = requests === 0 ? 'it has none' : `they are 0 to ${requests - 1}`;
  return new EscapementError('E_USAGE', `--request ${request}: the journal has no such request; ${there}`);
}
