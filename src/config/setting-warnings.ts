import { noteTexts } from '../record/policy-notes.js';
import { unknownVariables } from './environment.js';
import { policyNotes } from './policy-notes.js';
import { SERIAL_KEYS } from './schema-runtime.js';
import type { OriginalSettings } from './server-settings.js';

/** What settings are read on. */
interface SettingsPlace {
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Threads that may run at the same time. */
  readonly cores: number;
  /** Processors of the machine, which are numbered from 1. */
  readonly processors: number;
}

/** Settings that have no effect, or not the intended one: a line each; empty if all is well. */
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
