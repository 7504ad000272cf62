import { basename } from 'node:path';
import { stringify } from 'yaml';
import type { Experiment } from '../../config/experiment.js';
import { formatBytes, formatDuration } from '../../config/units-text.js';
import { priceText } from '../../report/cost-text.js';
import { formatPercent, round3 } from '../../text/numbers.js';
import { listed, plural } from '../../text/words.js';

/** The GPUs and the policy of an experiment, as a part of its file. */
export function setupOf({ policy: { kind }, writtenValue }: Experiment): string {
  const gpus = writtenValue('cluster.gpus') as number | readonly { readonly count?: number }[];
  const inLine = (value: unknown) => stringify(value, { collectionStyle: 'flow', lineWidth: 0 }).trimEnd();
  const rented = typeof gpus === 'number' ? [] : gpus.filter(({ count }) => count !== 0);
  const kinds = rented.map((kind) => `\n    - ${inLine(kind)}`).join('');
  return `cluster:\n  gpus:${kinds === '' ? ` ${gpus}` : kinds}\npolicy: ${inLine(writtenValue('policy') ?? { kind })}`;
}

/** Assumptions of a simulation that may not hold for a real cluster. */
export function assumptionsOf(experiment: Experiment): [string, string][] {
  const { cluster, workloads, models, pipelines, warnings, assumed, warmupNs } = experiment;
  const { network, kinds, pageBytes } = cluster;
  const slos = new Set(workloads.map((one) => sloText(one, experiment)));
  const memory = kinds.map(({ name, pages, pricePerHour }) => {
    const price = pricePerHour === null ? '' : `, ${priceText(pricePerHour)} per hour`;
    return `${name ?? 'each'} has ${formatBytes(pages * pageBytes)} for weights${price}`;
  });
  const chained = pipelines.map(({ name, steps }) => {
    const drawn = steps.filter(({ mean }) => mean !== 1).map(({ id, mean }) => `${round3(mean)} for ${id}`);
    const counts = drawn.length === 0 ? '' : ` (mean number of requests: ${listed(drawn)})`;
    return `, pipeline ${name} of ${plural(steps.length, 'step')}${counts}`;
  });
  return [
    ['traffic', listed(workloads.map(trafficText))],
    ['in time', `within ${listed([...slos])}`],
    [
      'warm-up',
      warmupNs > 0 ? `${formatDuration(warmupNs)}, not counted` : 'none: the first requests count as well',
    ],
    [
      'models',
      `${plural(models.length, 'model')}${chained.join('')}, whose durations are ${noiseText(cluster.noise)}`,
    ],
    ['GPUs', memory.join('; ')],
    [
      'network',
      network.delayNs + network.jitterNs === 0
        ? 'takes no time'
        : `${formatDuration(network.delayNs)} from scheduler to GPU and back again, jitter ${formatDuration(network.jitterNs)}`,
    ],
    ...warnings.map((text): [string, string] => ['profiles', text]),
    ...assumed.map((text): [string, string] => ['guess', text]),
  ];
}

/** `shop.csv.gz × 2`, `poisson at 400/s, resnet50 × 5`: with the factors of `traffic`. */
function trafficText(spec: Experiment['workloads'][number]): string {
  const { scale = 1, boost = {} } = { scale: 1, ...spec };
  const amounts = Object.entries(spec).filter(([key]) => /rateRps$|^clients$/i.test(key));
  const rates = amounts.map(([key, amount]) => (key === 'clients' ? `${amount} clients` : `${amount}/s`));
  const name = 'path' in spec ? basename(spec.path) : `${spec.kind} at ${listed(rates)}`;
  const boosted = Object.entries(boost).map(([model, factor]) => `, ${model} × ${factor}`);
  return `${name}${scale === 1 ? '' : ` × ${scale}`}${boosted.join('')}`;
}

function sloText(spec: Experiment['workloads'][number], { sloNs }: Experiment): string {
  if (spec.kind === 'arrivals' && !spec.overrideSlo) return 'the SLO of each row of the log';
  return formatDuration(spec.sloNs ?? sloNs);
}

function noiseText({ distribution, exec, stragglers, profile }: Experiment['cluster']['noise']): string {
  const base = {
    normal:
      exec === 0
        ? 'exactly the medians of their profiles'
        : `those of their profiles ± ${formatPercent(exec)}`,
    profile: 'drawn from the percentiles of their profiles',
    exponential: 'exponentially distributed around those of their profiles',
  }[distribution];
  return [
    base,
    ...(stragglers === 0 ? [] : [`${formatPercent(stragglers)} of them stragglers`]),
    ...(profile === 0 ? [] : [`profiles off by up to ${formatPercent(profile)}`]),
  ].join(', ');
}
