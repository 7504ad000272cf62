import * as z from 'zod';
import { isSection } from './document.js';
import { refuse, section, share, TEXT_OR_NUMBER, textField } from './fields.js';
import { presetValues } from './runtime-presets.js';
import {
  describeRuntime,
  PRESETS,
  PROFILER_MODES,
  RUNTIME_PRECISIONS,
  type RuntimeKey,
  type RuntimeSettings,
  STORAGE_BUFFER_CACHES,
} from './runtime-settings.js';
import { show } from './units-text.js';

/** What `serial` decides by itself. Overriding beats refusing: whoever debugs changes one key, and back. */
export const SERIAL_KEYS: readonly RuntimeKey[] = [
  'laneThreads',
  'intraOpThreads',
  'interOpThreads',
  'affinity',
];

/** A device with less left would have nothing for inputs, outputs and what lies between them. */
const MOST_RESERVE = 0.99;

const keys = section({
  preset: z.enum(PRESETS).default('none').describe(describeRuntime('preset')),
  laneThreads: z.int().min(1).default(8).describe(describeRuntime('laneThreads')),
  intraOpThreads: z.int().min(1).default(1).describe(describeRuntime('intraOpThreads')),
  interOpThreads: z.int().min(1).default(1).describe(describeRuntime('interOpThreads')),
  affinity: textField(TEXT_OR_NUMBER, describeRuntime('affinity'), readAffinity).prefault('none'),
  memoryReserve: share(describeRuntime('memoryReserve'), MOST_RESERVE).prefault('50%'),
  arena: z.boolean().default(true).describe(describeRuntime('arena')),
  memoryPattern: z.boolean().default(true).describe(describeRuntime('memoryPattern')),
  storageBufferCache: z
    .enum(STORAGE_BUFFER_CACHES)
    .default('bucket')
    .describe(describeRuntime('storageBufferCache')),
  serial: z.boolean().default(false).describe(describeRuntime('serial')),
  precision: z.enum(RUNTIME_PRECISIONS).default('fp32').describe(describeRuntime('precision')),
  profiler: z.enum(PROFILER_MODES).default('off').describe(describeRuntime('profiler')),
  profilerDir: z.string().min(1).default('profiles').describe(describeRuntime('profilerDir')),
});

/** The section `runtime` with the values of its preset, as it takes effect. */
export const runtimeSchema = z
  .preprocess(withPreset, keys.superRefine(checkAffinity).transform(serialIfAsked))
  .prefault({});

/** A preset says what the section does not. */
function withPreset(value: unknown): unknown {
  if (!isSection(value)) return value;
  const preset = PRESETS.find((name) => name === value.preset);
  return preset === undefined ? value : { ...presetValues(preset), ...value };
}

/** One list of processors for each thread, in onnxruntime's own words. */
const PROCESSORS = /^[1-9]\d*(?:-[1-9]\d*)?(?:,[1-9]\d*(?:-[1-9]\d*)?)*$/;

function readAffinity(value: unknown): string | null {
  const text = typeof value === 'number' ? String(value) : value;
  if (text === 'none') return null;
  if (typeof text === 'string' && text.split(';').every((processors) => PROCESSORS.test(processors))) {
    return text;
  }
  return refuse(
    `must list processors, from 1 on, for each further thread, such as 2;3-4 for two; found ${show(value)}`,
  );
}

/** onnxruntime does not move the thread that calls it, so that the first one has no entry. */
function checkAffinity(
  { affinity, intraOpThreads, serial }: RuntimeSettings,
  context: { addIssue(issue: { code: 'custom'; path: string[]; message: string }): void },
): void {
  if (affinity === null || serial) return;
  const entries = affinity.split(';').length;
  if (entries === intraOpThreads - 1) return;
  const message =
    `is for ${entries} further ${entries === 1 ? 'thread' : 'threads'}, and intraOpThreads ${intraOpThreads} has ` +
    `${intraOpThreads - 1}: give each thread but the first one its processors, with semicolons between them`;
  context.addIssue({ code: 'custom', path: ['affinity'], message });
}

function serialIfAsked(settings: RuntimeSettings): RuntimeSettings {
  if (!settings.serial) return settings;
  return { ...settings, laneThreads: 1, intraOpThreads: 1, interOpThreads: 1, affinity: null };
}
