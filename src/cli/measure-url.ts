import { EscapementError } from '../base/errors.js';
import { checkWritable, writeWhole } from '../base/files/output-file.js';
import { NS_PER_MS } from '../base/units.js';
import type { Profile } from '../config/profile.js';
import { DEFAULT_BATCH_SIZES } from '../live/models/settings.js';
import { readPayloads } from '../load/payloads.js';
import { plainLine } from '../load/reply.js';
import { table } from '../text/table.js';
import { writeErr, writeOut } from '../text/terminal.js';
import type { ServedMeasurement } from '../tools/profile/measure-served.js';
import type { accessFlags } from './common-options.js';
import { checkOneFile, chosenSizes, inferLabel, stabilityText } from './measured.js';
import type { ValuesOf } from './options.js';
import { openProgress } from './progress.js';
import { accessOf } from './token.js';

interface UrlArgs extends ValuesOf<typeof accessFlags> {
  readonly url: string;
  readonly model: readonly string[];
  readonly payload: string | undefined;
  readonly 'batch-sizes': string | undefined;
  readonly runs: number | undefined;
  readonly budget: number;
  readonly weights: number | undefined;
  readonly 'load-time': number | undefined;
  readonly out: string | undefined;
  readonly json: boolean;
  readonly quiet: boolean;
}

/** Measures the models of the server at `--url` as a client, and writes their profiles. */
export async function measureUrl(args: UrlArgs): Promise<void> {
  const trust = await accessOf(args);
  const { describeServer } = await import('../load/open-target.js');
  const { batchAssumed, measurableModel, servedModel } = await import('../tools/profile/served-model.js');
  const { assumptions } = await import('../load/requests.js');
  const { measureServed } = await import('../tools/profile/measure-served.js');
  const { servedProfile } = await import('../tools/profile/served-profile.js');
  const names = await namesOf(args, trust);
  checkOneFile(args.out, names.length);
  const { software, models } = await describeServer(args.url, { ...trust, seed: 1, models: names });
  const payloads = args.payload === undefined ? {} : { payloads: readPayloads(args.payload, names) };
  const measurable = models.map((model, i) =>
    measurableModel(args.url, names[i], model, payloads.payloads?.(names[i])),
  );
  const assumed = assumptions({ models: names, ...payloads }, models, (i) => batchAssumed(measurable[i]));
  if (!args.quiet) writeErr(assumed.map((line) => `profile measure: ${line}\n`).join(''));
  const unseen = {
    weightsBytes: args.weights ?? null,
    loadMs: args['load-time'] === undefined ? null : args['load-time'] / NS_PER_MS,
  };
  const profiles: ({ path: string; profile: Profile } & { measurement: ServedMeasurement })[] = [];
  for (const [i, name] of names.entries()) {
    const model = servedModel(name, measurable[i]);
    const ofModel = model.batched ? DEFAULT_BATCH_SIZES : [1];
    const batchSizes = chosenSizes(args['batch-sizes'], ofModel, model.batched);
    // Names come from the server, and may be paths.
    const path = args.out ?? `${encodeURIComponent(name)}.profile.json`;
    checkWritable(path);
    const progress = openProgress(`measuring ${plainLine(name)}`, args.quiet);
    const measurement = await measureServed({
      url: args.url,
      trust,
      ...payloads,
      model,
      batchSizes,
      runs: args.runs ?? null,
      budgetNs: args.budget,
      onProgress: progress.update,
    }).finally(progress.stop);
    const profile = servedProfile(model, measurement, software, unseen);
    writeWhole(path, `${JSON.stringify(profile, null, 2)}\n`);
    profiles.push({ path, profile, measurement });
    if (!args.json) writeOut(`${measuredText(profile, measurement)}profile: ${path}\n`);
  }
  if (args.json) writeOut(`${JSON.stringify({ profiles })}\n`);
}

type Trust = Awaited<ReturnType<typeof accessOf>>;

/** Models of `--model`, or all that the server has ready. */
async function namesOf({ url, model }: UrlArgs, trust: Trust): Promise<readonly string[]> {
  if (model.length > 0) return [...new Set(model)];
  const { listModels } = await import('../load/open-target.js');
  const names = await listModels(url, { ...trust, seed: 1, models: [] });
  if (names === null)
    throw new EscapementError('E_SERVER', `${url} does not list its models: name them with --model`);
  if (names.length > 0) return names;
  throw new EscapementError('E_SERVER', `${url} has no model that is ready: load one, or wait for it`);
}

function measuredText(profile: Profile, measurement: ServedMeasurement): string {
  const { roundTrip, batches, refused } = measurement;
  const { name, gpu, runtime, length = 0 } = profile;
  const seen = [...measurement.shorter, { length, batches }];
  const rows = [...(profile.shorter ?? []), profile].flatMap((table, t) =>
    table.batches.map((batch, i) => {
      const timed = seen[t].batches[i];
      return [
        inferLabel(seen[t].length, batch.batch),
        ...[timed.medianMs, batch.medianMs, batch.p99Ms ?? batch.medianMs].map((ms) => ms.toFixed(3)),
        timed.runs,
        Math.round((batch.batch * 1000) / batch.medianMs),
      ];
    }),
  );
  const { medianMs, p99Ms, runs } = roundTrip;
  const delayUs = Math.max(1, Math.round((medianMs * 1000) / 2));
  return [
    `${plainLine(name)} on the ${gpu} (${runtime})\n\n`,
    table([
      ['', 'seen ms', 'median ms', 'p99 ms', 'runs', 'requests/s'],
      ['round trip', medianMs.toFixed(3), '-', p99Ms.toFixed(3), runs, '-'],
      ...rows,
    ]),
    '\nseen: with the round trip, median; median and p99 of INFER are without it\n',
    ...(refused === null ? [] : [`batch ${refused.batch} is not taken: ${refused.answer}\n`]),
    ...(medianMs < seen[0].batches[0].medianMs / 2
      ? []
      : ['warning: most of the time is the round trip: measure nearer the server, or larger batches\n']),
    stabilityText(seen.flatMap((table) => table.batches)),
    `weights: ${profile.source.weights}\nLOAD: ${profile.source.load}\n`,
    `to simulate what this client sees: cluster: { network: { delay: ${delayUs}us } }\n`,
  ].join('');
}
