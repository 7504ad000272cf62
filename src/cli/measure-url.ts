import { EscapementError } from '../base/errors.js';
import { NS_PER_MS } from '../base/units.js';
import { DEFAULT_BATCH_SIZES } from '../live/models/settings.js';
import { describeServer, listModels } from '../load/open-target.js';
import { readPayloads } from '../load/payloads.js';
import { measureServed, type ServedMeasurement } from '../tools/profile/measure-served.js';
import { measurableModel, servedModel } from '../tools/profile/served-model.js';
import { servedProfile } from '../tools/profile/served-profile.js';
import { checkOneFile, chosenSizes, type Measurable, type MeasuringArgs } from './measuring.js';
import { accessOf } from './token.js';

type UrlArgs = MeasuringArgs & { readonly url: string };
type Trust = Awaited<ReturnType<typeof accessOf>>;

/** Models of the server at `--url`, measured as a client. */
export async function servedModels(args: UrlArgs): Promise<Measurable[]> {
  const { url, payload, 'load-time': loadNs } = args;
  const trust = await accessOf(args);
  const names = await namesOf(args, trust);
  checkOneFile(args.out, names.length);
  const { software, models } = await describeServer(url, { ...trust, seed: 1, models: names });
  const payloads = payload === undefined ? {} : { payloads: readPayloads(payload, names) };
  const measurable = models.map((model, i) =>
    measurableModel(url, names[i], model, payloads.payloads?.(names[i])),
  );
  const loadMs = loadNs === undefined ? null : loadNs / NS_PER_MS;
  return names.map((name, i) => {
    const model = servedModel(name, measurable[i]);
    const ofModel = model.batched ? DEFAULT_BATCH_SIZES : [1];
    const batchSizes = chosenSizes(args['batch-sizes'], ofModel, model.batched);
    const spec = {
      url,
      trust,
      ...payloads,
      model,
      batchSizes,
      runs: args.runs ?? null,
      budgetNs: args.budget,
    };
    return {
      name,
      // Names come from the server, and may be paths.
      file: `${encodeURIComponent(name)}.profile.json`,
      measure: async (onProgress) => {
        const measurement = await measureServed({ ...spec, onProgress });
        const unseen = { weightsBytes: args.weights ?? null, loadMs };
        const profile = servedProfile(model, measurement, software, unseen);
        const { weights, load } = profile.source;
        const notes = [...notesOf(measurement), `weights: ${weights}`, `LOAD: ${load}`];
        return { profile, measurement, first: ['round trip', measurement.roundTrip], notes };
      },
    };
  });
}

/** Models of `--model`, or all that the server has ready. */
async function namesOf({ url, model }: UrlArgs, trust: Trust): Promise<readonly string[]> {
  if (model.length > 0) return [...new Set(model)];
  const names = await listModels(url, { ...trust, seed: 1, models: [] });
  if (names === null)
    throw new EscapementError('E_SERVER', `${url} does not list its models: name them with --model`);
  if (names.length > 0) return names;
  throw new EscapementError('E_SERVER', `${url} has no model that is ready: load one, or wait for it`);
}

function notesOf({ roundTrip: { medianMs }, batches, shorter, refused }: ServedMeasurement): string[] {
  const delayUs = Math.max(1, Math.round((medianMs * 1000) / 2));
  const seenMs = (shorter[0]?.batches ?? batches)[0].medianMs;
  return [
    'INFER times exclude the median round trip',
    `to simulate what this client sees: cluster: { network: { delay: ${delayUs}us } }`,
    ...(refused === null ? [] : [`batch ${refused.batch} was rejected: ${refused.answer}`]),
    ...(medianMs < seenMs / 2
      ? []
      : ['warning: most of the time is the round trip: measure closer to the server, or larger batches']),
  ];
}
