import type { Outcome } from '../../../core/request.js';
import { OpenParcel, Parcel } from '../../parcel.js';
import type { InferenceAnswer, InferenceRequest } from '../../service.js';
import type { PackedAnswers, PackedRequests } from './thread-messages.js';

/** Numbers of each request and answer before those of its tensors. */
const REQUEST_NUMBERS = 6;
const ANSWER_NUMBERS = 6;

type Mutable<T> = { -readonly [K in keyof T]: T[K] extends readonly (infer E)[] ? E[] : T[K] };

/** Packs the requests of one turn into one message. */
export class RequestPacker {
  private numbers: number[] = [];
  private extras: Mutable<PackedRequests>['extras'] = [];
  private count = 0;
  private readonly parcel = new Parcel();

  add(id: number, request: InferenceRequest, arrivalNs: number): void {
    const { numbers, parcel } = this;
    const { model, user, sloNs, inputs, shapes, trace = null, mayMove = false } = request;
    numbers.push(id, model, user, arrivalNs, sloNs, inputs.length);
    for (let i = 0; i < inputs.length; i++) numbers.push(parcel.add(inputs[i], mayMove));
    if (shapes !== undefined || trace !== null) this.extras.push({ nth: this.count, shapes, trace });
    this.count++;
  }

  take(): { readonly requests: PackedRequests; readonly transfer: ArrayBuffer[] } {
    const { contents, transfer } = this.parcel.seal();
    const requests = { numbers: this.numbers, tensors: contents, extras: this.extras };
    this.numbers = [];
    this.extras = [];
    this.count = 0;
    return { requests, transfer };
  }
}

/** Calls `use` with each request of a message; `done` is to be added to it. */
export function unpackRequests(
  { numbers, tensors, extras }: PackedRequests,
  use: (id: number, request: Omit<InferenceRequest, 'done'>) => void,
): void {
  const parcel = new OpenParcel(tensors);
  let extra = 0;
  for (let at = 0, nth = 0; at < numbers.length; nth++) {
    const inputs = new Array<Uint8Array>(numbers[at + 5]);
    for (let i = 0; i < inputs.length; i++) inputs[i] = parcel.take(numbers[at + REQUEST_NUMBERS + i]);
    const rare = extras[extra]?.nth === nth ? extras[extra++] : null;
    use(numbers[at], {
      model: numbers[at + 1],
      user: numbers[at + 2],
      arrivalNs: numbers[at + 3],
      sloNs: numbers[at + 4],
      trace: rare === null ? null : rare.trace,
      inputs,
      shapes: rare?.shapes,
      mayMove: true,
    });
    at += REQUEST_NUMBERS + inputs.length;
  }
}

/** Packs the answers of one turn into one message. */
export class AnswerPacker {
  private numbers: number[] = [];
  private extras: Mutable<PackedAnswers>['extras'] = [];
  private count = 0;
  private readonly parcel = new Parcel();

  /** Large outputs in buffers of their own go over; what is part of a larger buffer is copied. */
  add(id: number, answer: InferenceAnswer): void {
    const { numbers, parcel } = this;
    const { outcome, outputs, shapes, predictedNs, passedNs = 0, batchSize, error } = answer;
    numbers.push(id, outcome, predictedNs, passedNs, batchSize, outputs.length);
    for (let i = 0; i < outputs.length; i++) {
      const isWhole = outputs[i].byteLength === outputs[i].buffer.byteLength;
      numbers.push(parcel.add(outputs[i], isWhole));
    }
    if (shapes !== undefined || error !== '') this.extras.push({ nth: this.count, shapes, error });
    this.count++;
  }

  take(): { readonly answers: PackedAnswers; readonly transfer: ArrayBuffer[] } {
    const { contents, transfer } = this.parcel.seal();
    const answers = { numbers: this.numbers, tensors: contents, extras: this.extras };
    this.numbers = [];
    this.extras = [];
    this.count = 0;
    return { answers, transfer };
  }
}

/** Calls `use` with each answer of a message. */
export function unpackAnswers(
  { numbers, tensors, extras }: PackedAnswers,
  use: (id: number, answer: InferenceAnswer) => void,
): void {
  const parcel = new OpenParcel(tensors);
  let extra = 0;
  for (let at = 0, nth = 0; at < numbers.length; nth++) {
    const outputs = new Array<Uint8Array>(numbers[at + 5]);
    for (let i = 0; i < outputs.length; i++) outputs[i] = parcel.take(numbers[at + ANSWER_NUMBERS + i]);
    const rare = extras[extra]?.nth === nth ? extras[extra++] : null;
    use(numbers[at], {
      outcome: numbers[at + 1] as Outcome,
      predictedNs: numbers[at + 2],
      passedNs: numbers[at + 3],
      batchSize: numbers[at + 4],
      outputs,
      shapes: rare?.shapes,
      error: rare === null ? '' : rare.error,
    });
    at += ANSWER_NUMBERS + outputs.length;
  }
}
