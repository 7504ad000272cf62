import type { Profile } from '../../config/profile.js';
import { type ServedMeasurement, withoutRoundTrip } from './measure-served.js';
import type { ServedModel } from './served-model.js';

/** Properties that a client cannot see; null: the model stays loaded, so neither matters. */
interface Unseen {
  readonly weightsBytes: number | null;
  readonly loadMs: number | null;
}

/** Smallest value allowed in a profile: such a model fits anywhere and loads instantly. */
const RESIDENT_BYTES = 1;
const RESIDENT_LOAD_MS = 0.001;

/** Profile of a model measured from outside. `software`: name and version of its server. */
export function servedProfile(
  { name, precision, inputBytes, lengths }: ServedModel,
  { server, roundTrip, batches, shorter, outputBytes }: ServedMeasurement,
  software: string,
  { weightsBytes, loadMs }: Unseen,
): Profile {
  const own = (timed: ServedMeasurement['batches']) =>
    timed.map(({ batch, ...times }) => ({ batch, ...withoutRoundTrip(times, roundTrip) }));
  const roundTripText = `${roundTrip.medianMs.toFixed(3)} ms`;
  return {
    name,
    gpu: `server at ${server}`,
    runtime: software,
    precision,
    weightsBytes: weightsBytes ?? RESIDENT_BYTES,
    loadMs: loadMs ?? RESIDENT_LOAD_MS,
    inputBytes,
    outputBytes,
    batches: own(batches),
    ...(lengths === null
      ? {}
      : {
          length: lengths.buckets[lengths.buckets.length - 1],
          shorter: shorter.map((table) => ({ length: table.length, batches: own(table.batches) })),
        }),
    source: {
      weights: sourceOf(weightsBytes, '--weights'),
      load: sourceOf(loadMs, '--load-time'),
      copies: 'inputs as the server describes them, outputs as it answers; one row of each',
      batches: `measured by escapement as a client of ${server}, one request at a time; the median round trip of calls without work, ${roundTripText}, is subtracted`,
    },
  };
}

function sourceOf(given: number | null, flag: string): string {
  return given === null
    ? `not visible from outside: the model is taken to stay loaded (${flag} says otherwise)`
    : `given with ${flag}: not visible from outside`;
}
