import type { EscapementError } from '../base/errors.js';
import type { Profile } from '../config/profile.js';
import type { Durations } from '../live/models/measure/until-stable.js';
import { accessFlags } from './common-options.js';
import {
  duration,
  group,
  list,
  metricsUrl,
  size,
  text,
  usageError,
  type ValuesOf,
  whole,
  wholeNumber,
} from './options.js';

/** Flags of measurements of models, here or on a server. */
export const measuringFlags = {
  ...group('Measurement', {
    model: list('Measure only this model of the repository or server'),
    'batch-sizes': text('Batch sizes, e.g. 1,2,4,8', 'those of the model'),
    runs: whole(1)('INFERs at each batch size', 'until their figures are stable'),
    budget: duration.or('3s', 'Time for each model, unless --runs is given'),
    'buckets-from': metricsUrl(
      'Metrics port of a server, e.g. http://127.0.0.1:8002: first write the buckets that it suggests, and fill, into config.yaml',
    ),
  }),
  ...group('Server', {
    url: text(
      'Measure the models of this running server as a client: http://HOST:PORT or grpc://HOST:PORT; https:// or grpcs:// for TLS',
    ),
    payload: text(
      'Real inputs for --url, one row: a .json or raw file, or a folder with one per model',
      'random, or texts',
    ),
    weights: size("Bytes of a model's weights, which a client cannot see", 'next to none: it stays loaded'),
    'load-time': duration('Time to load a model, which a client cannot see', 'next to none: it stays loaded'),
  }),
  ...accessFlags,
};

export type MeasuringArgs = ValuesOf<typeof measuringFlags> & { readonly out: string | undefined };

/** A model that can be measured, and the usual file of its profile. */
export interface Measurable {
  readonly name: string;
  readonly file: string;
  readonly measure: (onProgress: (share: number, next: string) => void) => Promise<MeasuredModel>;
}

interface MeasuredModel {
  readonly profile: Profile;
  readonly measurement: object;
  /** First row of the table, above those of INFERs. */
  readonly first: readonly [name: string, Durations];
  /** Lines about the measurement for people. */
  readonly notes: readonly string[];
}

/** A model that cannot be measured. */
export interface Unmeasured {
  readonly name: string;
  readonly error: EscapementError;
}

/** Throws `E_USAGE` if several profiles would be written to the file of `--out`. */
export function checkOneFile(out: string | undefined, models: number): void {
  if (out === undefined || models === 1) return;
  throw usageError('--out holds the profile of one model; select it with --model');
}

/** Batch sizes of `--batch-sizes`, or the model's own. Throws `E_USAGE`. */
export function chosenSizes(
  text: string | undefined,
  ofModel: readonly number[],
  isBatched: boolean,
): readonly number[] {
  if (text === undefined) return ofModel;
  const sizes = text.split(',').map((size) => wholeNumber(size, '--batch-sizes', 1));
  if (sizes[0] !== 1 || sizes.some((size, i) => i > 0 && size <= sizes[i - 1])) {
    throw usageError(`--batch-sizes ${text}: must start with 1 and ascend`);
  }
  if (isBatched || sizes.length === 1) return sizes;
  throw usageError(`--batch-sizes ${text}: the model does not support batches`);
}
