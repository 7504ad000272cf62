import { OUTCOME_ERROR, OUTCOME_OK, OUTCOME_REJECTED, OUTCOME_TIMEOUT } from '../../core/request.js';
import { NS_PER_MS } from '../../core/units.js';
import type { InferenceAnswer, InferenceRequest, InferenceService } from '../service.js';
import { Refusal } from './refusal.js';

/** Who waits for a call. */
export interface CallSink {
  /** Once, when every request of the call was answered. */
  answered(call: Call): void;
}

/** What one client asked for at once: a batch, split into requests of the service that are answered together. */
export class Call {
  /** In the order of the batch. */
  readonly answers: InferenceAnswer[];
  private open: number;

  constructor(
    /** Requests in the batch. */
    readonly count: number,
    private readonly sink: CallSink,
  ) {
    this.answers = new Array(count);
    this.open = count;
  }

  /** `inputs`: one entry for each input of the model, `count` requests one after the other. */
  submit(service: InferenceService, model: number, sloNs: number, inputs: readonly Uint8Array[]): void {
    const { count } = this;
    for (let i = 0; i < count; i++) {
      const own = count === 1 ? inputs : inputs.map((bytes) => partOf(bytes, i, count));
      service.infer(new Part(this, i, model, sloNs, own));
    }
  }

  finish(index: number, answer: InferenceAnswer): void {
    this.answers[index] = answer;
    this.open--;
    if (this.open === 0) this.sink.answered(this);
  }

  /** The worst that happened to one of the requests; null: all were executed. */
  refusal(): Refusal | null {
    let worst = this.answers[0];
    // The numbers of the outcomes ascend by gravity: a failure must not be mistaken for load.
    for (const answer of this.answers) if (answer.outcome > worst.outcome) worst = answer;
    switch (worst.outcome) {
      case OUTCOME_REJECTED: {
        const predictedMs =
          this.answers.reduce((most, { predictedNs }) => Math.max(most, predictedNs), 0) / NS_PER_MS;
        const expected = `it would take ${predictedMs.toFixed(3)} ms`;
        return new Refusal('rejected', `the latency objective cannot be met: ${expected}`, predictedMs);
      }
      case OUTCOME_TIMEOUT:
        return new Refusal('timeout', 'the latency objective could not be met');
      case OUTCOME_ERROR:
        return new Refusal('failed', worst.error === '' ? 'the inference failed' : worst.error);
      default:
        return null;
    }
  }

  /** True if every request was answered within its objective. */
  get sloMet(): boolean {
    for (const { outcome } of this.answers) if (outcome !== OUTCOME_OK) return false;
    return true;
  }

  /** Largest batch that one of the requests ran in. */
  get batchSize(): number {
    let largest = 0;
    for (const { batchSize } of this.answers) if (batchSize > largest) largest = batchSize;
    return largest;
  }
}

class Part implements InferenceRequest {
  readonly user = 0;

  constructor(
    private readonly call: Call,
    private readonly index: number,
    readonly model: number,
    readonly sloNs: number,
    readonly inputs: readonly Uint8Array[],
  ) {}

  done(answer: InferenceAnswer): void {
    this.call.finish(this.index, answer);
  }
}

function partOf(bytes: Uint8Array, index: number, count: number): Uint8Array {
  const size = bytes.length / count;
  return bytes.subarray(index * size, (index + 1) * size);
}
