import { Worker as Thread } from 'node:worker_threads';
import { type ErrorCode, EscapementError } from '../../core/errors.js';
import type { TensorSignature } from '../model.js';
import type { Timing, TimingSpec } from './session-timing.js';

export interface MeasureSpec extends TimingSpec {
  /** The model, optimised for the device. */
  readonly ortPath: string;
}

/** What a scheduler has to know of a model on a device. */
export interface Measurement extends Timing {
  /** Of the optimised model. */
  readonly weightsBytes: number;
  /** Of one request. */
  readonly inputBytes: number;
  readonly outputBytes: number;
}

/** What the measuring thread says. */
export type MeasureReport =
  | { readonly kind: 'progress'; readonly share: number; readonly next: string }
  | { readonly kind: 'done'; readonly timing: Timing; readonly weightsBytes: number }
  | { readonly kind: 'failed'; readonly code: ErrorCode; readonly message: string };

/**
 * Measures a model on a device, in a thread of its own. Nothing else should run on the machine meanwhile.
 * `onProgress` gets the share that is done, from 0 to 1, and what comes next. Rejects with `E_DEVICE` when the
 * device is not there, and with `E_MODEL_FILE` when the model fails on it.
 */
export function measureModel(
  spec: MeasureSpec,
  onProgress: (share: number, next: string) => void = () => {},
): Promise<Measurement> {
  return new Promise((resolve, reject) => {
    const thread = new Thread(new URL('measure-thread.js', COMPILED), { workerData: spec });
    thread.on('message', (report: MeasureReport) => {
      if (report.kind === 'progress') onProgress(report.share, report.next);
      else if (report.kind === 'failed') reject(new EscapementError(report.code, report.message));
      else {
        const { inputs, outputs } = spec.signature;
        const { timing, weightsBytes } = report;
        resolve({ ...timing, weightsBytes, inputBytes: total(inputs), outputBytes: total(outputs) });
      }
    });
    thread.on('error', reject);
    thread.on('exit', (status) => reject(new Error(`the measuring thread ended with status ${status}`)));
  });
}

/** Threads run compiled code, also where the rest runs from its source, as in tests. */
const COMPILED = new URL(
  import.meta.url.endsWith('.ts') ? '../../../dist/live/profile/' : './',
  import.meta.url,
);

function total(tensors: readonly TensorSignature[]): number {
  return tensors.reduce((sum, { bytes }) => sum + bytes, 0);
}
