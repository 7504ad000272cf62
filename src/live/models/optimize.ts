import { createHash } from 'node:crypto';
import { existsSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { cpus } from 'node:os';
import { join } from 'node:path';
import { EscapementError } from '../../base/errors.js';
import { fileDigest } from '../../base/files/file-digest.js';
import { makeFolder } from '../../base/files/make-folder.js';
import { cannotWrite } from '../../base/files/output-file.js';
import { writeShared } from '../../base/files/shared-file.js';
import type { OrtDeviceSpec, Provider } from '../device.js';
import { onnxruntimeVersion } from '../ort/open-session.js';
import { callRuntime } from '../ort/runtime-call.js';
import type { OpenOptions } from '../ort/session-options.js';
import { modelDigest } from './digest.js';
import { CPU, locate } from './locate.js';
import { productDirs } from './product-dirs.js';
import { precisionOf } from './weights.js';

export interface OptimizedModel {
  readonly ortPath: string;
  /** Why it was made: there was none, or one of another model, or one that had changed since; null: it was there. */
  readonly made: 'missing' | 'outdated' | 'damaged' | null;
}

/**
 * Makes the optimised model (`.ort`) that a device loads in place, unless it is there, in the first of `productDirs`. What is
 * optimised depends on onnxruntime and the device, for the CPU also on its make (another one's file would compute
 * nonsense): the file's name says all that. A record next to it (`.json`) says what it was made from and what came of it,
 * as digests: where either differs from what is on disk, it is made again. Throws `E_MODEL_FILE` and `E_FILE_WRITE`, and
 * `E_DEVICE` where a GPU has to be there for it.
 */
export async function optimizeModel(
  onnxPath: string,
  kind: Provider,
  cacheDir: string | null = null,
): Promise<OptimizedModel> {
  // For the CPU all optimisations, although they suit its make only: at 64 × 64 MobileNetV2 runs four times as fast
  // as without the changed layout of its tensors, ResNet-18 a tenth faster. Graphics processors choose their own
  // layout and need a model without any.
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
    writeShared(recordPath, `${JSON.stringify(record, null, 2)}\n`);
  } catch (error) {
    rmSync(partial, { force: true });
    if (error instanceof EscapementError) throw error;
    const { what, place } = cannotWrite(ortPath, error);
    throw new EscapementError('E_FILE_WRITE', `${what}; --cache-dir names another folder`, place);
  }
  return { ortPath, made };
}

/** What the runtime's process is to do: `savePath` gets the optimized model. */
export interface OptimizeTask {
  readonly onnxPath: string;
  readonly device: OrtDeviceSpec;
  readonly level: OpenOptions['level'];
  readonly savePath: string;
}

/** Digests of a model and of its optimised form. */
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

/** Null also where it is no such record: it makes no difference. */
function readRecord(path: string): Partial<OptimizationRecord> | null {
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch {
    return null;
  }
}

const KEY_DIGITS = 8;

/**
 * What optimises a model for a device: the CPU, so that the device need not be there, except for FP16 models. The CPU
 * computes those in FP32, and would write its conversions into the file: measured on webgpu, the device computes in
 * FP32 then, and MobileNetV2 wrongly.
 */
function optimizerOf(onnxPath: string, kind: Provider): Provider {
  return kind !== 'cpu' && precisionOf(onnxPath) === 'fp16' ? kind : 'cpu';
}

/** The processor with its instruction sets: under one name clouds offer several. */
function cpuText(): string {
  const [{ model = '' } = {}] = cpus();
  if (!existsSync(CPU_INFO)) return model;
  const flags = /^(?:flags|Features)\s*:(.*)$/m.exec(readFileSync(CPU_INFO, 'utf8'))?.[1] ?? '';
  return `${model} ${flags}`;
}

/** Only Linux has it. */
const CPU_INFO = '/proc/cpuinfo';
