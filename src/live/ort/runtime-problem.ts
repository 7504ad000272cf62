import { type ErrorCode, type ErrorPlace, EscapementError } from '../../base/errors.js';

/** An error of a model in the form that crosses threads and processes. */
export interface RuntimeProblem {
  readonly code: ErrorCode;
  readonly what: string;
  readonly place: ErrorPlace;
  /** For the log: the stack of an unexpected error. */
  readonly detail?: string;
}

/** Converts any error that a model can cause to one line for people. A stack trace is kept separately. */
export function runtimeProblem(error: unknown): RuntimeProblem {
  if (error instanceof EscapementError) {
    const { code, what, place } = error;
    return { code, what, place };
  }
  const detail = error instanceof Error ? { detail: error.stack ?? error.message } : {};
  return { code: 'E_MODEL_FILE', what: onnxruntimeReason(error), place: {}, ...detail };
}

export function problemError({ code, what, place }: RuntimeProblem): EscapementError {
  return new EscapementError(code, what, place);
}

/** Message of onnxruntime, on one line, without the place in its source and the stack. */
export function onnxruntimeReason(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  if (/requires f16 but the device does not support it/.test(message)) {
    return 'the GPU or its driver cannot compute in FP16, as it lacks shader-f16: use runtime.precision fp32';
  }
  const words = message
    .replace(/\bStacktrace:.*/s, '')
    .split(/\s+/)
    .filter((word) => word !== '');
  const isPlace = (word: string) => /.\.(?:cc|cpp|cu|h):\d+$/.test(word);
  // After the first place comes the function with its parameters, before the reason itself.
  const first = words.findIndex(isPlace);
  const end = words.findLastIndex((word, i) => i < words.length - 1 && word.endsWith(')'));
  const kept = first < 0 || end < first ? words : words.toSpliced(first, end - first + 1);
  return kept.filter((word, i) => !isPlace(word) || i === kept.length - 1).join(' ');
}

/** The model cannot compute these inputs, but is fine: their sizes do not match, or an index is out of range. */
export class InputError extends Error {}

/** Names are chosen by the model's author. */
const NODE_NAME = /Name:'[^']*'/g;
/** Errors of operators about their inputs. */
const OPERATOR =
  /Non-zero status code returned while running|INVALID_ARGUMENT|Invalid (?:input|argument|rank)/i;
/** Errors of the device or its memory, although reported by an operator. */
const DEVICE = /alloc|memory|CUDA|cuDNN|cuBLAS|WebGPU|Dawn|DirectML|CoreML|device|driver/i;

/** True if a run failed because of its inputs, judging by onnxruntime's message. In doubt it is the device. */
export function isOfInputs(reason: string): boolean {
  const said = reason.replaceAll(NODE_NAME, '');
  return OPERATOR.test(said) && !DEVICE.test(said);
}
