import { noteTexts } from '../record/policy-notes.js';
import { entryOf } from './create-policy.js';
import type { Origin } from './overrides.js';
import { policyNotes } from './policy-notes.js';
import { RUNTIME_SETTINGS, unknownVariables } from './runtime-settings.js';
import type { OriginalSettings } from './server-settings.js';

/** Source of a value as it takes effect. */
type Source = Origin | { readonly kind: 'default' };

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
  const { policy, classes, tenants } = settings;
  return [
    ...RUNTIME_SETTINGS.map(({ key }) => `runtime.${key}`),
    ...['slo', 'admission', 'policy.kind'],
    ...Object.keys(entryOf(policy)?.options ?? {}).map((name) => `policy.${name}`),
    ...classes.map((_, i) => `classes.${i}`),
    ...(tenants.list.length === 0 ? [] : ['tenants.header']),
    ...tenants.list.map((_, i) => `tenants.list.${i}`),
  ]
    .map((key) => ({ key, value: writtenValue(key), from: originOf(key) ?? { kind: 'default' as const } }))
    .filter(({ value }) => value !== undefined);
}

/** The source in words. */
export function sourceText(from: Source): string {
  if (from.kind === 'flag') return `--set ${from.override}`;
  if (from.kind === 'environment') return from.variable;
  if (from.kind === 'default') return from.kind;
  return from.line === undefined ? from.file : `${from.file}:${from.line}`;
}

/**
 * Settings without effect, or without the intended one, on a machine: a line each; empty if all is well. `cores`: number
 * of threads that can run in parallel.
 */
export function settingWarnings(
  { settings, originOf }: OriginalSettings,
  environment: Readonly<Record<string, string | undefined>>,
  cores: number,
): string[] {
  const { runtime, policy, classes, tenants } = settings;
  return [
    ...unknownVariables(environment).map(
      ({ variable, meant }) =>
        `${variable} is not an environment variable of escapement${meant === undefined ? '' : `: did you mean ${meant}?`}`,
    ),
    ...(['intraOpThreads', 'interOpThreads'] as const)
      .filter((key) => runtime[key] > cores)
      .map(
        (key) =>
          `runtime.${key} is ${runtime[key]}, more than the ${cores} cores that this process may use: threads will wait for each other`,
      ),
    // onnxruntime plans memory in sequential mode only.
    ...(runtime.memoryPattern && runtime.interOpThreads > 1 && originOf('runtime.memoryPattern') !== null
      ? ['runtime.memoryPattern has no effect: with several interOpThreads onnxruntime plans no memory']
      : []),
    ...noteTexts(
      policyNotes({
        ...{ policy, kinds: 1, hasLengths: false },
        ...{ hasClasses: classes.length > 0, tenants: tenants.list.length },
      }),
    ).map(({ text }) => text),
  ];
}
