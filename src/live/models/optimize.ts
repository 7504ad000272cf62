import { createHash } from 'node:crypto';
import { existsSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { cpus } from 'node:os';
import { join } from 'node:path';
import { EscapementError } from '../../base/errors.js';
import { fileDigest } from '../../base/files/file-digest.js';
import { makeFolder } from '../../base/files/make-folder.js';
import { cannotWrite, writeWhole } from '../../base/files/output-file.js';
import { CPU, type OrtDeviceSpec, type Provider } from '../device.js';
import type { OpenOptions } from '../ort/open-session.js';
import { onnxruntimeVersion } from '../ort/open-session.js';
import { callRuntime } from '../ort/runtime-call.js';
import { modelDigest } from './digest.js';
import { productDirs } from './product-dirs.js';
import { locate } from './scan.js';
import { precisionOf } from './weights.js';

interface OptimizedModel {
  readonly ortPath: string;
  /** Reason why it was made: missing, of another model, or damaged; null: it existed. */
  readonly made: 'missing' | 'outdated' | 'damaged' | null;
}

/**
 * Makes the optimized model (`.ort`) that a device loads in place, unless it exists, in the first of `productDirs`. The
 * result depends on onnxruntime and the device, for the CPU also on its make (another one's file would compute
 * nonsense): the file's name includes all that. A record next to it (`.json`) has digests of source and result: if
 * either differs from what is on disk, it is made again. Throws `E_MODEL_FILE` and `E_FILE_WRITE`, and `E_DEVICE` if a
 * GPU is needed but missing.
 */
export async function optimizeModel(
  onnxPath: string,
  kind: Provider,
  cacheDir: string | null = null,
): Promise<OptimizedModel> {
  // For the CPU all optimizations, although they suit its make only: at 64 × 64 MobileNetV2 runs four times as fast as
  // without the changed layout of its tensors, ResNet-18 a tenth faster. GPUs choose their own layout and need a model
  // without any.
  const level = kind === 'cpu' ? 'all' : 'basic';
  const make = kind === 'cpu' ? [process.arch, cpuText()] : [];
  const traits = [onnxruntimeVersion(), level, ...make];
  const key = createHash('sha256').update(JSON.stringify(traits)).digest('hex').slice(0, KEY_DIGITS);
  const model = modelDigest(onnxPath);
  const dirs = productDirs(onnxPath, cacheDir);
  const states = dirs.map((dir) => ({
    ...filesIn(dir, `${kind}-${key}`),
    made: whyMake(dir, `${kind}-${key}`, model),
  }));
  const ready = states.find(({ made }) => made === null);
  if (ready !== undefined) return { ortPath: ready.ortPath, made: null };
  const [{ ortPath, recordPath, made }] = states;
  const partial = `${ortPath}.${process.pid}.partial`;
  try {
    makeFolder(dirs[0]);
    const device = { ...CPU, kind: optimizerOf(onnxPath, kind) };
    const task: OptimizeTask = { onnxPath, device, level, savePath: partial };
    await locate(onnxPath, () => callRuntime('optimize', task));
    const record: OptimizationRecord = { model, optimized: fileDigest(partial) ?? '' };
    renameSync(partial, ortPath);
    writeWhole(recordPath, `${JSON.stringify(record, null, 2)}\n`);
  } catch (error) {
    rmSync(partial, { force: true });
    if (error instanceof EscapementError) throw error;
    const { what, place } = cannotWrite(ortPath, error);
    throw new EscapementError('E_FILE_WRITE', `${what}; --cache-dir names another folder`, place);
  }
  return { ortPath, made };
}

/** Task of the runtime's process: `savePath` receives the optimized model. */
export interface OptimizeTask {
  readonly onnxPath: string;
  readonly device: OrtDeviceSpec;
  readonly level: OpenOptions['level'];
  readonly savePath: string;
}

/** Digests of a model and of its optimized form. */
interface OptimizationRecord {
  readonly model: string;
  readonly optimized: string;
}

function filesIn(dir: string, name: string): { readonly ortPath: string; readonly recordPath: string } {
  return { ortPath: join(dir, `${name}.ort`), recordPath: join(dir, `${name}.json`) };
}

function whyMake(dir: string, name: string, model: string): OptimizedModel['made'] {
  const { ortPath, recordPath } = filesIn(dir, name);
  const optimized = fileDigest(ortPath);
  if (optimized === null) return 'missing';
  const record = readRecord(recordPath);
  if (record?.model !== model) return 'outdated';
  return record.optimized === optimized ? null : 'damaged';
}

/** Null also for an invalid record, with the same effect. */
function readRecord(path: string): Partial<OptimizationRecord> | null {
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch {
    return null;
  }
}

const KEY_DIGITS = 8;

/**
 * Device that optimizes a model for another: the CPU, so that the device need not be there, except for FP16 models. The
 * CPU computes those in FP32, and would write its conversions into the file: measured on webgpu, the device then
 * computes in FP32, and MobileNetV2 incorrectly.
 */
function optimizerOf(onnxPath: string, kind: Provider): Provider {
  return kind !== 'cpu' && precisionOf(onnxPath) === 'fp16' ? kind : 'cpu';
}

/** Processor with its instruction sets: clouds offer several under one name. */
function cpuText(): string {
  const [{ model = '' } = {}] = cpus();
  if (!existsSync(CPU_INFO)) return model;
  const flags = /^(?:flags|Features)\s*:(.*)$/m.exec(readFileSync(CPU_INFO, 'utf8'))?.[1] ?? '';
  return `${model} ${flags}`;
}

/** Exists on Linux only. */
const CPU_INFO = '/proc/cpuinfo';
