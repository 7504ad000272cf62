import { parseCount, parseDuration, parseRate, parseShare } from '../../config/units-text.js';
import type { Setup } from '../share/address.js';
import { listAt, type Tree, textAt } from './effective.js';
import { withOverride } from './overrides.js';

/** A setting of both lanes that can be changed on the page. */
export interface Knob {
  readonly label: string;
  readonly hint: string;
  readonly choices: readonly string[];
  /** Current value. */
  readonly value: string;
  set(setup: Setup, choice: string): Setup;
}

const BURSTINESS = ['even gaps', 'Poisson', 'bursty (cv 2)', 'bursty (cv 4)', 'bursty (cv 8)'];

/** Knobs that the experiment has, in the order of the page. */
export function knobsOf(tree: Tree): readonly Knob[] {
  const workloads = listAt(tree, ['workload']);
  const [model, ...otherModels] = listAt(tree, ['models']);
  const first = workloads[0] ?? {};
  const place = Array.isArray(tree.workload) ? 'workload.0' : 'workload';
  const hasRate = 'rate' in first;
  const hasCopies = model !== undefined && otherModels.length === 0 && model.kind !== 'csv';
  const at = (key: string, byDefault: string) => textAt(tree, key.split('.')) ?? byDefault;
  const [delay, noise] = ['cluster.network.delay', 'cluster.noise.exec'];
  const knobs = [
    hasRate && knob('Load', 'Mean rate of the requests', `${place}.rate`, RATES, `${first.rate}`, parseRate),
    hasRate && workloads.length === 1 && burstiness(place, first),
    knob('SLO', 'Time for an answer', 'slo', SLOS, at('slo', '100ms'), parseDuration),
    knob('GPUs', 'GPUs of the cluster', 'cluster.gpus', GPUS, at('cluster.gpus', '1'), parseCount),
    hasCopies &&
      knob('Copies', 'Copies of each model', 'models.copies', COPIES, `${model.copies ?? 1}`, parseCount),
    knob('Network', 'One-way delay of a message', delay, DELAYS, at(delay, '0s'), parseDuration),
    knob('Noise', 'Deviation of execution times', noise, NOISES, at(noise, '0%'), parseShare),
    knob('Seed', 'Another draw of the same arrivals', 'seed', SEEDS, at('seed', '1'), parseCount),
  ];
  return knobs.filter((each) => each !== false);
}

const RATES = ['50/s', '100/s', '200/s', '300/s', '400/s', '500/s', '600/s', '800/s', '1000/s', '1500/s'];
const SLOS = ['5ms', '10ms', '15ms', '25ms', '50ms', '100ms', '250ms', '500ms'];
const GPUS = ['1', '2', '3', '4', '6', '8'];
const COPIES = ['1', '5', '10', '15', '50', '100', '200', '500'];
const DELAYS = ['0s', '100us', '500us', '1ms', '2ms', '5ms', '10ms'];
const NOISES = ['0%', '0.1%', '1%', '5%', '10%', '25%'];
const SEEDS = ['1', '2', '3', '4', '5', '6', '7', '8'];

function knob(
  label: string,
  hint: string,
  key: string,
  usual: readonly string[],
  value: string,
  read: (text: string) => number,
): Knob {
  const choices = withValue(usual, value, read);
  return {
    ...{ label, hint, choices, value },
    set: (setup, choice) => ({ ...setup, overrides: withOverride(setup.overrides, key, choice) }),
  };
}

/** Adds the current value, as written, to the usual ones in order; first, if it is not such a quantity. */
function withValue(usual: readonly string[], value: string, read: (text: string) => number): string[] {
  const own = amount(value, read);
  const others = usual.filter((choice) => read(choice) !== own);
  const larger = others.findIndex((choice) => read(choice) > own);
  return others.toSpliced(larger < 0 ? others.length : larger, 0, value);
}

/** Parses an amount; the engine reports what is wrong with an unreadable one. */
function amount(text: string, read: (text: string) => number): number {
  try {
    return read(text);
  } catch {
    return Number.NEGATIVE_INFINITY;
  }
}

function burstiness(place: string, { kind, cv }: Tree): Knob {
  const at =
    kind === 'fixed' ? 0 : kind === 'poisson' ? 1 : BURSTINESS.findIndex((text) => text.endsWith(`${cv})`));
  const value = BURSTINESS[at] ?? `${kind}`;
  return {
    label: 'Arrivals',
    hint: 'How evenly the requests come; cv: standard deviation of the gaps divided by their mean',
    choices: at < 0 ? [value, ...BURSTINESS] : BURSTINESS,
    value,
    set(setup, choice) {
      const chosen = /cv (\d)/.exec(choice)?.[1];
      const to = chosen !== undefined ? 'gamma' : choice === 'Poisson' ? 'poisson' : 'fixed';
      const others = setup.overrides.filter((override) => !override.startsWith(`${place}.cv=`));
      const overrides = withOverride(others, `${place}.kind`, to);
      return {
        ...setup,
        overrides: chosen === undefined ? overrides : withOverride(overrides, `${place}.cv`, chosen),
      };
    },
  };
}
