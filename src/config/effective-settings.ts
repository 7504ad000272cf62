import { usableCores } from '../base/limits/usable.js';
import { noteTexts } from '../record/policy-notes.js';
import { entryOf } from './create-policy.js';
import type { Origin } from './overrides.js';
import { policyNotes } from './policy-notes.js';
import { presetValues, RUNTIME_SETTINGS, unknownVariables } from './runtime-settings.js';
import { type RuntimeKey, SERIAL_KEYS } from './schema-runtime.js';
import type { OriginalSettings } from './server-settings.js';

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
  readonly value: unknown;
  readonly from: Source;
}

/**
 * Every setting of a server and its source: `runtime`, then `slo`, `admission` and the policy's, classes and tenants.
 */
export function effectiveSettings({
  settings,
  originOf,
  writtenValue,
}: OriginalSettings): EffectiveSetting[] {
  const { runtime, policy, classes, tenants } = settings;
  const preset = presetValues(runtime.preset, usableCores);
  const ofRuntime = RUNTIME_SETTINGS.map(({ key: name }): EffectiveSetting => {
    const key = `runtime.${name}`;
    if (runtime.serial && SERIAL_KEYS.includes(name))
      return { key, value: runtime[name] ?? 'none', from: { kind: 'serial' } };
    const byDefault = Object.hasOwn(preset, name)
      ? ({ kind: 'preset', preset: runtime.preset } as const)
      : DEFAULT;
    return { key, value: writtenValue(key), from: originOf(key) ?? byDefault };
  });
  const others = [
    ...['slo', 'admission', 'policy.kind'],
    ...Object.keys(entryOf(policy)?.options ?? {}).map((name) => `policy.${name}`),
    ...classes.map((_, i) => `classes.${i}`),
    ...(tenants.list.length === 0 ? [] : ['tenants.header']),
    ...tenants.list.map((_, i) => `tenants.list.${i}`),
  ].map((key) => ({ key, value: writtenValue(key), from: originOf(key) ?? DEFAULT }));
  return [...ofRuntime, ...others.filter(({ value }) => value !== undefined)];
}

const DEFAULT = { kind: 'default' } as const;

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

/** Machine for which settings are read. */
interface SettingsPlace {
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Number of threads that can run in parallel. */
  readonly cores: number;
  /** Processors of the machine, numbered from 1. */
  readonly processors: number;
}

/** Settings without effect, or without the intended one: a line each; empty if all is well. */
export function settingWarnings(
  { settings, originOf }: OriginalSettings,
  { environment, cores, processors }: SettingsPlace,
): string[] {
  const { runtime, policy, classes, tenants, padding } = settings;
  const isSet = (key: RuntimeKey) => originOf(`runtime.${key}`) !== null;
  const named = (runtime.affinity ?? '').split(/[;,-]/).map(Number);
  return [
    ...unknownVariables(environment).map(
      ({ variable, meant }) =>
        `${variable} is not an environment variable of escapement${meant === undefined ? '' : `: did you mean ${meant}?`}`,
    ),
    ...SERIAL_KEYS.filter((key) => runtime.serial && isSet(key)).map(
      (key) => `runtime.${key} has no effect: runtime.serial runs everything in one thread`,
    ),
    ...(['intraOpThreads', 'interOpThreads'] as const)
      .filter((key) => runtime[key] > cores)
      .map(
        (key) =>
          `runtime.${key} is ${runtime[key]}, more than the ${cores} cores that this process may use: threads will wait for each other`,
      ),
    ...named
      .filter((core) => core > processors)
      .map((core) => `runtime.affinity names core ${core}; the last one is ${processors}`),
    // onnxruntime plans memory in sequential mode only.
    ...(runtime.memoryPattern && runtime.interOpThreads > 1 && isSet('memoryPattern')
      ? ['runtime.memoryPattern has no effect: with several interOpThreads onnxruntime plans no memory']
      : []),
    ...noteTexts(
      policyNotes({
        ...{ policy, padding, kinds: 1, hasLengths: false },
        ...{ hasClasses: classes.length > 0, tenants: tenants.list.length },
      }),
    ).map(({ text }) => text),
  ];
}
