import { usableCores } from '../base/limits/usable.js';
import { noteTexts } from '../record/policy-notes.js';
import { entryOf } from './create-policy.js';
import type { Origin } from './overrides.js';
import { policyNotes } from './policy-notes.js';
import { presetValues, RUNTIME_SETTINGS, unknownVariables } from './runtime-settings.js';
import { type RuntimeKey, type RuntimeSettings, SERIAL_KEYS } from './schema-runtime.js';
import type { OriginalSettings, ServerSettings } from './server-settings.js';
import { sharePercents } from './tenant-shares.js';
import { formatDuration } from './units-text.js';

/** Source of a value as it takes effect. */
type Source =
  | Origin
  | { readonly kind: 'preset'; readonly preset: string }
  | { readonly kind: 'serial' }
  | { readonly kind: 'default' };

/** One setting of a server as it takes effect. */
interface EffectiveSetting {
  /** Dotted, e.g. `runtime.arena`. */
  readonly key: string;
  /** The value as written in a file. */
  readonly value: string | number | boolean;
  readonly from: Source;
}

/**
 * Every setting of a server and its source: `runtime`, then `slo`, `admission` and the policy's, classes and tenants.
 */
export function effectiveSettings({ settings, originOf }: OriginalSettings): EffectiveSetting[] {
  const { runtime, sloNs, admission } = settings;
  const said = (key: string): Source => originOf(key) ?? { kind: 'default' };
  return [
    ...RUNTIME_SETTINGS.map(({ key }) => ({
      key: `runtime.${key}`,
      value: writtenValue(runtime, key),
      from: runtimeSource(runtime, key, originOf(`runtime.${key}`)),
    })),
    { key: 'slo', value: formatDuration(sloNs), from: said('slo') },
    { key: 'admission', value: admission, from: said('admission') },
    ...policyValues(settings).map(([key, value]) => ({ key, value, from: said(key) })),
    ...senderValues(settings).map(([key, value]) => ({ key, value, from: said(key) })),
  ];
}

/** One row per class and tenant, as a file would list it. */
function senderValues({ classes, tenants }: ServerSettings): [string, string][] {
  const percents = tenants.list.length < 2 ? [] : sharePercents(tenants.list);
  return [
    ...classes.map(({ name, weight, share, priorities }, i): [string, string] => [
      `classes.${i}`,
      listItem({
        ...{ name, weight },
        ...(share === 0 ? {} : { share: percentText(share) }),
        ...(priorities.length === 0 ? {} : { priority: `[${priorities.join(', ')}]` }),
      }),
    ]),
    ...(tenants.list.length === 0 ? [] : [['tenants.header', tenants.header] as [string, string]]),
    ...tenants.list.map(({ name, rateRps, burst, share }, i): [string, string] => [
      `tenants.list.${i}`,
      listItem({ name, ...(Number.isFinite(rateRps) ? { rate: `${rateRps}/s`, burst } : {}), share }) +
        (percents[i] === undefined ? '' : ` # ${percents[i]}`),
    ]),
  ];
}

function listItem(values: Readonly<Record<string, string | number>>): string {
  const pairs = Object.entries(values).map(([key, value]) => `${key}: ${value}`);
  return `{ ${pairs.join(', ')} }`;
}

function percentText(share: number): string {
  return `${Number((100 * share).toPrecision(6))}%`;
}

/** The source in words. */
export function sourceText(from: Source): string {
  switch (from.kind) {
    case 'flag':
      return `--set ${from.override}`;
    case 'environment':
      return from.variable;
    case 'file':
      return from.line === undefined ? from.file : `${from.file}:${from.line}`;
    case 'preset':
      return `preset ${from.preset}`;
    default:
      return from.kind;
  }
}

function runtimeSource(runtime: RuntimeSettings, key: RuntimeKey, origin: Origin | null): Source {
  const { preset, serial } = runtime;
  if (serial && SERIAL_KEYS.includes(key)) return { kind: 'serial' };
  if (origin !== null) return origin;
  return Object.hasOwn(presetValues(preset, usableCores), key)
    ? { kind: 'preset', preset }
    : { kind: 'default' };
}

function writtenValue(runtime: RuntimeSettings, key: RuntimeKey): EffectiveSetting['value'] {
  const value = runtime[key];
  if (value === null) return 'none';
  return key === 'memoryReserve' ? percentText(runtime.memoryReserve) : value;
}

function policyValues({ policy }: ServerSettings): [string, EffectiveSetting['value']][] {
  const options = entryOf(policy)?.options ?? {};
  return [
    ['policy.kind', policy.kind],
    ...Object.entries(options).flatMap(([name, { type }]): [string, EffectiveSetting['value']][] => {
      const value = policy.options[name];
      if (value === undefined) return [];
      return [
        [`policy.${name}`, type === 'duration' && typeof value === 'number' ? formatDuration(value) : value],
      ];
    }),
  ];
}

/** Machine for which settings are read. */
interface SettingsPlace {
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Number of threads that can run in parallel. */
  readonly cores: number;
  /** Processors of the machine, numbered from 1. */
  readonly processors: number;
}

/** Settings without effect, or without the intended one: a line each; empty if all is well. */
export function settingWarnings(loaded: OriginalSettings, place: SettingsPlace): string[] {
  const { policy, classes, tenants, padding } = loaded.settings;
  return [
    ...unknownVariables(place.environment).map(
      ({ variable, meant }) =>
        `${variable} is not an environment variable of escapement${meant === undefined ? '' : `: did you mean ${meant}?`}`,
    ),
    ...serialConflicts(loaded),
    ...tooFewCores(loaded, place),
    ...withoutPattern(loaded),
    ...noteTexts(
      policyNotes({
        ...{ policy, padding, kinds: 1, hasLengths: false },
        ...{ hasClasses: classes.length > 0, tenants: tenants.list.length },
      }),
    ).map(({ text }) => text),
  ];
}

function serialConflicts({ settings, originOf }: OriginalSettings): string[] {
  if (!settings.runtime.serial) return [];
  return SERIAL_KEYS.filter((key) => originOf(`runtime.${key}`) !== null).map(
    (key) => `runtime.${key} has no effect: runtime.serial runs everything in one thread`,
  );
}

function tooFewCores(
  { settings: { runtime } }: OriginalSettings,
  { cores, processors }: SettingsPlace,
): string[] {
  const { intraOpThreads, interOpThreads, affinity } = runtime;
  const counts = { intraOpThreads, interOpThreads };
  const named = (affinity ?? '').split(/[;,-]/).map(Number);
  return [
    ...Object.entries(counts)
      .filter(([, threads]) => threads > cores)
      .map(
        ([key, threads]) =>
          `runtime.${key} is ${threads}, more than the ${cores} cores that this process may use: threads will wait for each other`,
      ),
    ...named
      .filter((core) => core > processors)
      .map((core) => `runtime.affinity names core ${core}; the last one is ${processors}`),
  ];
}

/** onnxruntime plans memory in sequential mode only. */
function withoutPattern({ settings: { runtime }, originOf }: OriginalSettings): string[] {
  if (!runtime.memoryPattern || runtime.interOpThreads === 1) return [];
  if (originOf('runtime.memoryPattern') === null) return [];
  return ['runtime.memoryPattern has no effect: with several interOpThreads onnxruntime plans no memory'];
}
