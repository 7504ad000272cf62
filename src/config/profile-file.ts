import { RUNTIME_SETTINGS } from './runtime-settings.js';
import type { RuntimeSettings } from './schema-runtime.js';

/** Settings that change how long an INFER takes. */
const SETTINGS = [
  'intraOpThreads',
  'interOpThreads',
  'affinity',
  'arena',
  'memoryPattern',
  'storageBufferCache',
] as const satisfies (keyof RuntimeSettings)[];

/** What a model was measured on, as far as durations depend on it. */
export interface MeasuredDevice {
  /** A provider of onnxruntime. */
  readonly kind: string;
  readonly adapter: number;
  readonly session: Pick<RuntimeSettings, (typeof SETTINGS)[number]>;
}

/**
 * Name of the profile of a model on a device, next to its `model.onnx`: `profile.cpu.json` with default settings, and
 * more words for others that change durations, so that a model keeps one profile for each.
 */
export function profileFileName({ kind, adapter, session }: MeasuredDevice): string {
  const { intraOpThreads, interOpThreads, affinity, arena, memoryPattern, storageBufferCache } = session;
  const onCpu = [
    intraOpThreads === 1 ? '' : `${intraOpThreads}`,
    interOpThreads === 1 ? '' : `inter${interOpThreads}`,
    // Not every system allows semicolons in file names, and hyphens are taken.
    affinity === null ? '' : `on${affinity.replaceAll('-', '~').replaceAll(';', '+')}`,
    arena ? '' : 'noarena',
  ];
  const onGpu = [
    adapter === 0 ? '' : `${adapter}`,
    kind === 'webgpu' && storageBufferCache !== 'bucket' ? storageBufferCache : '',
  ];
  const words = [kind, ...(kind === 'cpu' ? onCpu : onGpu), memoryPattern ? '' : 'nopattern'];
  return `profile.${words.filter((word) => word !== '').join('-')}.json`;
}

/** The flags of the command that measures with these settings, each with a space before it. */
export function settingFlags(session: MeasuredDevice['session']): string {
  return SETTINGS.map((key) => {
    const value = session[key] === null ? 'none' : String(session[key]);
    const isDefault = RUNTIME_SETTINGS.some((setting) => setting.key === key && setting.default === value);
    return isDefault ? '' : ` --set 'runtime.${key}=${value}'`;
  }).join('');
}
