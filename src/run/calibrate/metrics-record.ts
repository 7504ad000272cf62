import { EscapementError } from '../../base/errors.js';
import { NS_PER_S } from '../../base/units.js';
import type { Compared, Figures, LiveRecord } from './live-record.js';
import type { Measured } from './measure.js';

/** Two scrapes of the metrics of a server. */
export interface Scrapes {
  readonly url: string;
  readonly first: string;
  readonly last: string;
  readonly seconds: number;
}

/** Increase of a sample between two scrapes. */
interface Counted {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/**
 * Record in the metrics of a server: figures, and by model how long its INFERs took on average. Of what metrics do not
 * tell, it measures what was `simulated`. Throws `E_RESULTS` if no model of the simulation answered a request.
 */
export function recordOfMetrics(
  { url, first, last, seconds }: Scrapes,
  { experiment: { models } }: Compared,
  simulated: Measured,
): LiveRecord {
  const before = new Map(samples(first).map((one) => [one.key, one.value]));
  const counted = samples(last).map(
    (one): Counted => ({ ...one, value: one.value - (before.get(one.key) ?? 0) }),
  );
  if (counted.some(({ value, name }) => value < 0 && name.startsWith('escapement_request_latency')))
    throw new EscapementError('E_RESULTS', `${url} was started again meanwhile: begin once more`);
  const sum = (name: string, labels: Readonly<Record<string, string>>) =>
    counted
      .filter(
        (one) => one.name === name && Object.entries(labels).every(([key, text]) => one.labels[key] === text),
      )
      .reduce((total, { value }) => total + value, 0);
  const scale = new Map<string, { factor: number; mean: number; infers: number }>();
  for (const { name: model, batchSizes, execNs, lengths, otherKinds } of models) {
    const infers = sum('escapement_batch_size_count', { model });
    const ofSimulated = simulated.scale.get(model);
    // Metrics tell neither the lengths nor the GPUs of INFERs.
    if (infers === 0 || ofSimulated === undefined || (lengths ?? otherKinds) !== undefined) continue;
    let [requests, profiledNs, upTo] = [0, 0, 0];
    for (const [bound, count] of bucketsOf(
      counted,
      'escapement_batch_size_bucket',
      (own) => own.model === model,
    )) {
      const size = batchSizes.findIndex((batch) => batch >= bound);
      const i = size < 0 ? batchSizes.length - 1 : size;
      requests += (count - upTo) * batchSizes[i]!;
      profiledNs += (count - upTo) * batchSizes[i]! * execNs[i]!;
      upTo = count;
    }
    const tookNs = sum('escapement_request_stage_seconds_total', { model, stage: 'exec' }) * NS_PER_S;
    const mean = tookNs / sum('escapement_batch_size_sum', { model }) / (profiledNs / requests);
    if (mean > 0 && Number.isFinite(mean))
      scale.set(model, { factor: (ofSimulated.factor * mean) / ofSimulated.mean, mean, infers });
  }
  const figures = (labels: Readonly<Record<string, string>>): Figures => ({
    goodputRps: sum('escapement_request_latency_seconds_count', { ...labels, outcome: 'ok' }) / seconds,
    ...percentiles(counted, labels),
  });
  const infers = [...scale.values()].reduce((all, one) => all + one.infers, 0);
  return {
    figures: new Map([
      ['', figures({})],
      ...models.map(({ name }) => [name, figures({ model: name })] as const),
    ]),
    measured: { ...simulated, infers, scale },
    warnings: [
      'metrics tell no more than factors of models: spread, stragglers, delays and overhead stay as simulated; use a journal for them',
      'percentiles of metrics are interpolated between the bounds of their buckets',
    ],
  };
}

/** Cumulated counts of a histogram by upper bounds, ascending. */
function bucketsOf(
  counted: readonly Counted[],
  histogram: string,
  isWanted: (labels: Counted['labels']) => boolean,
): [bound: number, count: number][] {
  const upTo = new Map<number, number>();
  for (const { name, labels, value } of counted) {
    if (name !== histogram || !isWanted(labels)) continue;
    const bound = labels.le === '+Inf' ? Number.POSITIVE_INFINITY : Number(labels.le);
    upTo.set(bound, (upTo.get(bound) ?? 0) + value);
  }
  return [...upTo].sort(([a], [b]) => a - b);
}

/** Percentiles of executed requests, interpolated within buckets. */
function percentiles(counted: readonly Counted[], labels: Readonly<Record<string, string>>) {
  const bounds = bucketsOf(
    counted,
    'escapement_request_latency_seconds_bucket',
    ({ model, outcome }) =>
      (labels.model === undefined || model === labels.model) && (outcome === 'ok' || outcome === 'late'),
  );
  const total = bounds.at(-1)?.[1] ?? 0;
  const at = (share: number) => {
    const wanted = share * total;
    const i = bounds.findIndex(([, count]) => count >= wanted);
    const [bound, count] = bounds[i] ?? [Number.POSITIVE_INFINITY, 0];
    if (total === 0 || !Number.isFinite(bound)) return null;
    const [low, below] = bounds[i - 1] ?? [0, 0];
    return 1000 * (low + ((bound - low) * (wanted - below)) / (count - below));
  };
  return { p50Ms: at(0.5), p99Ms: at(0.99) };
}

/** Samples of Prometheus' text format. */
function samples(text: string) {
  return text.split('\n').flatMap((line) => {
    const [, key, name, list = '', value] = /^((\w+)(?:\{(.*)\})?) (\S+)/.exec(line) ?? [];
    if (key === undefined || name === undefined) return [];
    const labels = [...list.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)].map(
      ([, label, own]) => [label!, own!] as const,
    );
    return [{ key, name, labels: Object.fromEntries(labels), value: Number(value) }];
  });
}
