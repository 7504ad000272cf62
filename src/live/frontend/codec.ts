import { move, Piscina, transferableSymbol, valueSymbol } from 'piscina';
import { compiledNextTo } from '../../base/compiled.js';
import { usableCores } from '../../base/limits/usable.js';
import { MIB } from '../../base/units.js';
import { passOnWarnings } from '../warnings.js';
import { ApiError, type ApiErrorKind, asApiError } from './api-error.js';
import { decodeBody, encodeAnswer } from './infer-body.js';
import { ownBuffers } from './json-tensors.js';
import { CODEC_TIMEOUT_MS, MOST_CODEC_QUEUE } from './limits.js';

const MOST_THREADS = 4;
const LEAST_HEAP_MIB = 128;
/** Memory for parsing the costliest JSON, bytes per byte: "[]," makes a list of every third. */
const HEAP_PER_BYTE = 48;

/** Threads of low priority for bodies and answers that would hold up others. They start with the first one. */
export class Codec {
  private pool: Piscina | null = null;

  constructor(private readonly maxJsonBytes: number) {}

  /** Runs a job; its tensors move to the other thread. Rejects with an `ApiError`. */
  async run<Name extends keyof CodecJobs>(
    name: Name,
    task: Parameters<CodecJobs[Name]>[0],
    tensors: readonly Uint8Array[],
  ): Promise<ReturnType<CodecJobs[Name]>> {
    this.pool ??= new Piscina({
      filename: compiledNextTo(import.meta.url, 'codec-thread.cjs').href,
      minThreads: 1,
      maxThreads: Math.max(1, Math.min(MOST_THREADS, Math.floor(usableCores() / 2))),
      maxQueue: MOST_CODEC_QUEUE,
      niceIncrement: 10,
      resourceLimits: {
        maxOldGenerationSizeMb: LEAST_HEAP_MIB + Math.ceil((HEAP_PER_BYTE * this.maxJsonBytes) / MIB),
      },
    });
    if (this.pool.queueSize >= MOST_CODEC_QUEUE)
      throw new ApiError('tooBusy', 'too many large bodies wait to be decoded: try again later');
    const signal = AbortSignal.timeout(CODEC_TIMEOUT_MS);
    let result: CodecResult<ReturnType<CodecJobs[Name]>>;
    try {
      result = await this.pool.run(task, { name, signal, transferList: ownBuffers(tensors) });
    } catch (error) {
      // Its thread has ended: for want of time or of memory.
      const why = signal.aborted ? `takes more than ${CODEC_TIMEOUT_MS / 1000} s` : (error as Error).message;
      throw new ApiError('tooLarge', `decoding or encoding this is given up: ${why}`);
    }
    if ('apiError' in result) throw new ApiError(result.apiError.kind, result.apiError.message);
    return result.value;
  }

  async close(): Promise<void> {
    await this.pool?.destroy();
  }
}

/** Errors lose their class on the way between threads. */
type CodecResult<T> =
  | { readonly value: T }
  | { readonly apiError: { readonly kind: ApiErrorKind; readonly message: string } };

/** Inputs and results of the jobs. */
interface CodecJobs {
  readonly decode: typeof decodeBody;
  readonly encode: typeof encodeAnswer;
}

if (Piscina.isWorkerThread) passOnWarnings('codec');

export const decode = job(decodeBody, ({ inputs }) => inputs);
export const encode = job(encodeAnswer, (text) => [text]);

/** Makes a job that hands its tensors over. */
function job<Task, T>(act: (task: Task) => T, tensorsOf: (value: T) => readonly Uint8Array[]) {
  return (task: Task): unknown => {
    try {
      const value = act(task);
      return move({ [transferableSymbol]: ownBuffers(tensorsOf(value)), [valueSymbol]: { value } });
    } catch (error) {
      const { kind, message } = asApiError(error);
      return { apiError: { kind, message } } satisfies CodecResult<T>;
    }
  };
}
