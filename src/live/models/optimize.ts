import { createHash } from 'node:crypto';
import { existsSync, readFileSync, renameSync, rmSync, statSync, utimesSync } from 'node:fs';
import { cpus } from 'node:os';
import { dirname, join } from 'node:path';
import { EscapementError } from '../../core/errors.js';
import { cannotWrite } from '../../files/output-file.js';
import type { Provider } from '../device.js';
import { ONNXRUNTIME_VERSION, openSession } from '../ort/open-session.js';
import { CPU, locate } from './locate.js';
import { precisionOf } from './weights.js';

export interface OptimizedModel {
  readonly ortPath: string;
  /** False: it was there already. */
  readonly made: boolean;
}

/**
 * Makes the optimised model (`.ort`) that a device loads in place, next to `onnxPath`, unless it is there. What is
 * optimised depends on onnxruntime and the device, for the CPU also on its make (another one's file would compute
 * nonsense): the file's name says all that. It has the same time as the model that it was made from; when they
 * differ, it is made anew. Throws `E_MODEL_FILE` and `E_FILE_WRITE`, and `E_DEVICE` where a GPU has to be there for it.
 */
export async function optimizeModel(onnxPath: string, kind: Provider): Promise<OptimizedModel> {
  // For the CPU all optimisations, although they suit its make only: at 64 × 64 MobileNetV2 runs four times as fast
  // as without the changed layout of its tensors, ResNet-18 a tenth faster. Graphics processors choose their own
  // layout and need a model without any.
  const level = kind === 'cpu' ? 'all' : 'basic';
  const make = kind === 'cpu' ? [process.arch, cpuText()] : [];
  const traits = [ONNXRUNTIME_VERSION, level, ...make];
  const key = createHash('sha256').update(JSON.stringify(traits)).digest('hex').slice(0, KEY_DIGITS);
  const ortPath = join(dirname(onnxPath), `${kind}-${key}.ort`);
  const modelMs = statSync(onnxPath).mtimeMs;
  if (timeOf(ortPath) === Math.round(modelMs)) return { ortPath, made: false };
  const partial = `${ortPath}.${process.pid}.partial`;
  try {
    const optimizer = { ...CPU, kind: optimizerOf(onnxPath, kind) };
    const session = await locate(onnxPath, () =>
      openSession(onnxPath, optimizer, {
        level,
        savePath: partial,
        config: { save_model_format: 'ORT' },
      }),
    );
    await session.release();
    // A whole number of milliseconds survives the way through the file system.
    utimesSync(partial, Math.round(modelMs) / 1000, Math.round(modelMs) / 1000);
    renameSync(partial, ortPath);
  } catch (error) {
    rmSync(partial, { force: true });
    throw error instanceof EscapementError ? error : cannotWrite(ortPath, error);
  }
  return { ortPath, made: true };
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

function timeOf(path: string): number | null {
  const stat = statSync(path, { throwIfNoEntry: false });
  return stat === undefined ? null : Math.round(stat.mtimeMs);
}
