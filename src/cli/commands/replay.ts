import type { Argv } from 'yargs';
import { EscapementError } from '../../core/errors.js';
import { OUTCOME_NAMES } from '../../core/request.js';
import { NS_PER_MS, NS_PER_S } from '../../core/units.js';
import { createPolicyOf } from '../../experiment/create-policy.js';
import { explain } from '../../live/journal/explain.js';
import { FlightRecorder } from '../../live/journal/flight-recorder.js';
import { flightText } from '../../live/journal/flight-text.js';
import type { JournalHeader } from '../../live/journal/journal-header.js';
import { OutcomeList } from '../../live/journal/outcome-list.js';
import { type Replay, replayJournal } from '../../live/journal/replay.js';
import { fanOut } from '../../metrics/fan-out.js';
import { oneValue, oneValueOr, wholeNumber } from '../args.js';
import { table } from '../text-layout.js';

/** `escapement replay FILE`: re-runs the scheduler on what a live controller wrote down. */
export function replayCommand(cli: Argv): void {
  cli.command(
    'replay <file>',
    'Re-run the scheduler offline on the journal of a live run; status 47 if it decides otherwise',
    (command) =>
      command
        .positional('file', { type: 'string', demandOption: true, describe: 'Journal (--journal of serve)' })
        .options({
          request: oneValue({ describe: 'Timeline of one request: plan, course, and why it was late' }),
          late: { type: 'boolean', default: false, describe: 'List requests that were not answered in time' },
          limit: oneValueOr('20', 'Most requests that --late lists'),
          json: { type: 'boolean', default: false, describe: 'Print one JSON object' },
        })
        .example('$0 replay run.journal --late', '')
        .example('$0 replay run.journal --request 1234', ''),
    async (args) => {
      const request = args.request === undefined ? null : wholeNumber(args.request, 'request', 0);
      const outcomes = new OutcomeList(args.late ? wholeNumber(args.limit, 'limit', 1) : 0);
      const recorder = request === null ? null : new FlightRecorder(request);
      let header!: JournalHeader;
      const replay = await replayJournal(args.file, {
        createPolicy: (recorded, context) => {
          header = recorded;
          return createPolicyOf(recorded.policy)(context);
        },
        observer: fanOut(recorder === null ? [outcomes] : [outcomes, recorder]),
        ...(recorder === null ? {} : { watcher: recorder }),
      });
      const flight = recorder?.flight ?? null;
      if (request !== null && flight === null) throw noRequest(request, replay.requests);
      const differs = !replay.truncated && replay.digest !== replay.recordedDigest;
      if (args.json) {
        const counts = OUTCOME_NAMES.map((name, outcome) => [name, outcomes.counts[outcome]]);
        const late = outcomes.missed.map((missed) => ({
          ...missed,
          model: header.models[missed.model].name,
        }));
        const facts = {
          ...replay,
          outcomes: Object.fromEntries(counts),
          ...(args.late ? { late } : {}),
          ...(flight === null ? {} : { flight: { ...flight, why: explain(flight) } }),
        };
        process.stdout.write(`${JSON.stringify(facts)}\n`);
      } else {
        process.stdout.write(replayText(args.file, header, replay, outcomes));
        if (args.late) process.stdout.write(lateText(header, outcomes));
        if (flight !== null) process.stdout.write(`\n${flightText(flight)}`);
      }
      if (differs) {
        const what = `the replay ends with digest ${replay.digest}, the recorded run with ${replay.recordedDigest}: another version of escapement wrote the journal, or the file was changed`;
        throw new EscapementError('E_REPLAY_DIFFERS', what, { file: args.file });
      }
    },
  );
}

function replayText(path: string, header: JournalHeader, replay: Replay, outcomes: OutcomeList): string {
  const { policy, gpus, models, admission } = header;
  const { digest, recordedDigest } = replay;
  const recorded =
    recordedDigest === null
      ? 'none: the journal was cut off, and this is the replay of what there is'
      : `${recordedDigest}, ${recordedDigest === digest ? 'the same' : 'DIFFERENT'}`;
  return table([
    ['journal', path],
    ['cluster', `${gpus} GPUs, ${models.length} models, ${header.pages} pages`],
    ['policy', admission === 'none' ? policy.kind : `${policy.kind}, admission by prediction`],
    ['length', `${Number((replay.endNs / NS_PER_S).toFixed(3))} s, ${replay.steps} steps`],
    ['requests', String(replay.requests)],
    ['outcomes', OUTCOME_NAMES.map((name, outcome) => `${name} ${outcomes.counts[outcome]}`).join(', ')],
    ['digest', digest],
    ['recorded', recorded],
  ]);
}

function lateText({ models }: JournalHeader, { missed, counts }: OutcomeList): string {
  if (missed.length === 0) return '\nevery request was answered within its objective\n';
  const rows = missed.map(({ request, model, outcome, arrivalNs, sloNs, latencyNs }) => [
    request,
    models[model].name,
    outcome,
    Number((arrivalNs / NS_PER_S).toFixed(6)),
    milliseconds(latencyNs),
    milliseconds(sloNs),
  ]);
  const rest = counts.slice(1).reduce((sum, count) => sum + count, 0) - missed.length;
  const more = rest > 0 ? `and ${rest} more; raise --limit to see them\n` : '';
  return `\n${table([['request', 'model', 'outcome', 'came at s', 'took ms', 'objective ms'], ...rows])}${more}`;
}

function milliseconds(ns: number): number {
  return Number((ns / NS_PER_MS).toFixed(3));
}

function noRequest(request: number, requests: number): EscapementError {
  const there = requests === 0 ? 'it has none' : `it has 0 to ${requests - 1}`;
  return new EscapementError('E_USAGE', `--request ${request}: the journal has no such request; ${there}`);
}
