import TinyQueue from 'tinyqueue';
import { NS_PER_MS } from '../../base/units.js';
import {
  OUTCOME_CANCELLED,
  OUTCOME_ERROR,
  OUTCOME_OK,
  OUTCOME_REJECTED,
  OUTCOME_TIMEOUT,
} from '../../core/request.js';
import { bytesAtLength } from '../lengths.js';
import {
  DATATYPES,
  type Datatype,
  FREE,
  type ModelSignature,
  numbersOf,
  type ServedModel,
  type Shape,
} from '../model.js';
import {
  type InferenceAnswer,
  type InferenceRequest,
  type InferenceService,
  SHUTTING_DOWN,
  STANDS_BY,
  WORKER_LOST,
  waitedText,
} from '../service.js';
import { bytesOfTexts } from '../texts.js';
import { ApiError, cancelled, serverNotReady, shown } from './api-error.js';
import type { Inference } from './inference.js';
import { type Account, MOST_CLASSIFIED } from './limits.js';

/** Shorter times are not mentioned. */
const TINY_NS = NS_PER_MS / 10;

/** Errors of requests that can be sent again, here or elsewhere. */
const SEND_AGAIN: ReadonlySet<string> = new Set([SHUTTING_DOWN, WORKER_LOST]);

/** Destination and sender of a call. `untilNs`: deadline of its client; absent: none. */
type Submission = Required<Pick<InferenceRequest, 'model' | 'tenant' | 'trace'>> & {
  readonly arrivalNs: number;
  readonly untilNs?: number;
};

/** One inference call of a client: a batch, split into requests of the service that are answered together. */
export class Call {
  /** Answers in the order of the batch. */
  readonly answers: InferenceAnswer[];
  private open: number;
  private readonly parts: InferenceRequest[] = [];
  /** SLO of each of its requests. */
  private sloNs = 0;

  constructor(
    readonly inference: Inference,
    private readonly account: Pick<Account, 'ask' | 'answered'>,
    /** Called once, when every request of the call was answered. */
    private readonly answered: (call: Call) => void,
  ) {
    this.answers = new Array(inference.count);
    this.open = inference.count;
  }

  /** Requests in the batch. */
  get count(): number {
    return this.answers.length;
  }

  /** Throws an `ApiError` if its client has too many requests under way. */
  submit(service: InferenceService, submission: Submission): void {
    const { model, arrivalNs, untilNs = Number.POSITIVE_INFINITY, tenant, trace } = submission;
    const { inputs, requestClass, shapes, length } = this.inference;
    const { count } = this;
    this.account.ask(count);
    this.sloNs = Math.max(1, Math.min(this.inference.sloNs, untilNs - arrivalNs));
    for (let i = 0; i < count; i++) {
      const part: InferenceRequest = {
        model,
        user: 0,
        requestClass,
        tenant,
        arrivalNs,
        sloNs: this.sloNs,
        inputs: count === 1 ? inputs : inputs.map((bytes) => partOf(bytes, i, count)),
        shapes,
        length,
        trace,
        done: (answer) => this.finish(i, answer),
      };
      this.parts.push(part);
      service.infer(part);
    }
  }

  /** Its client has gone. */
  cancel(): void {
    if (this.open === 0) return;
    for (const [i, part] of this.parts.entries())
      if (this.answers[i] === undefined) part.keeper?.cancel(part);
  }

  /** The whole shape of output number `index`. */
  shapeOf(index: number, { batched, outputs, lengths }: ModelSignature): Shape {
    const { shape } = outputs[index];
    const { length } = this.inference;
    if (lengths !== undefined) return [this.count, ...shape.map((size) => (size === FREE ? length : size))];
    return batched ? [this.count, ...shape] : (this.answers[0].shapes?.[index] ?? shape);
  }

  private finish(index: number, answer: InferenceAnswer): void {
    this.answers[index] = answer;
    this.open--;
    if (this.open > 0) return;
    this.account.answered(this.count);
    this.answered(this);
  }

  /** Worst failure of its requests; null: all were executed. */
  apiError(): ApiError | null {
    let worst = this.answers[0];
    // The numbers of the outcomes ascend by gravity: a failure must not be mistaken for load.
    for (const answer of this.answers) if (answer.outcome > worst.outcome) worst = answer;
    switch (worst.outcome) {
      case OUTCOME_REJECTED: {
        if (worst.error === STANDS_BY) return new ApiError('standby', serverNotReady(STANDS_BY));
        if (worst.isOverLimit === true)
          return new ApiError('overLimit', worst.error, worst.predictedNs / NS_PER_MS);
        if (worst.error !== '') return new ApiError('notReady', worst.error);
        let longest = worst;
        for (const answer of this.answers) if (answer.predictedNs > longest.predictedNs) longest = answer;
        return rejected(this.sloNs, longest);
      }
      case OUTCOME_TIMEOUT:
        return givenUp(this.sloNs, worst);
      case OUTCOME_ERROR:
        if (SEND_AGAIN.has(worst.error)) return new ApiError('notReady', worst.error);
        if (worst.isOfInputs === true) return new ApiError('invalid', worst.error);
        return new ApiError('failed', worst.error === '' ? 'the inference failed' : worst.error);
      case OUTCOME_CANCELLED:
        return cancelled();
      default:
        return null;
    }
  }

  /** True if every request was answered within its SLO. */
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

/** Error of a request refused on arrival, or when it was queued again. */
function rejected(sloNs: number, { predictedNs, passedNs = 0 }: InferenceAnswer): ApiError {
  const what = `the SLO of ${sloNs / NS_PER_MS} ms cannot be met`;
  if (predictedNs === Number.POSITIVE_INFINITY)
    return new ApiError('rejected', `${what}: no GPU in service can run the model`);
  // A policy refuses by rules of its own, perhaps without a prediction.
  if (predictedNs <= sloNs) {
    const alone = predictedNs > 0 ? `, although it would take ${ms(predictedNs)} alone` : '';
    return new ApiError(
      'rejected',
      `${what}: the policy gave it up${alone}`,
      predictedNs / NS_PER_MS || null,
    );
  }
  const passed = passedNs < TINY_NS ? '' : `, of which ${ms(passedNs)} had passed`;
  const why = `it would take ${ms(predictedNs)}${passed}`;
  return new ApiError('rejected', `${what}: ${why}`, predictedNs / NS_PER_MS);
}

/** Error of a request that was not executed in time. */
function givenUp(sloNs: number, answer: InferenceAnswer): ApiError {
  const { error, predictedNs } = answer;
  const why = error === '' ? `it ${waitedText(answer)}` : error;
  const hasPrediction = predictedNs > 0 && predictedNs < Number.POSITIVE_INFINITY;
  const predictedMs = hasPrediction ? predictedNs / NS_PER_MS : null;
  return new ApiError('timeout', `the SLO of ${sloNs / NS_PER_MS} ms could not be met: ${why}`, predictedMs);
}

function partOf(bytes: Uint8Array, index: number, count: number): Uint8Array {
  const size = bytes.length / count;
  return bytes.subarray(index * size, (index + 1) * size);
}

function ms(ns: number): string {
  return `${(ns / NS_PER_MS).toFixed(3)} ms`;
}

/** One output of an answer. */
export interface AnswerOutput {
  readonly name: string;
  readonly datatype: Datatype;
  readonly shape: Shape;
  /** Its data, requests one after the other. */
  readonly parts: readonly Uint8Array[];
  readonly bytes: number;
  /** Over HTTP: it follows the JSON as binary data. */
  readonly binary: boolean;
}

/** Content of an answer, over either protocol. Plain data. */
export interface Answer {
  readonly id: string | null;
  readonly name: string;
  readonly version: string;
  readonly batchSize: number;
  readonly sloMet: boolean;
  readonly outputs: readonly AnswerOutput[];
}

/** Builds the answer to a call, or throws its `ApiError`. */
export function answerOf(call: Call, { spec, version, signature, labels }: ServedModel): Answer {
  const apiError = call.apiError();
  if (apiError !== null) throw apiError;
  const { id, count, outputs } = call.inference;
  return {
    id,
    name: spec.name,
    version,
    batchSize: call.batchSize,
    sloMet: call.sloMet,
    outputs: outputs.map(({ index, binary, classes }): AnswerOutput => {
      const { name, datatype } = signature.outputs[index];
      const rows = call.answers.map((answer) => answer.outputs[index]);
      if (classes === 0)
        return {
          name,
          datatype,
          shape: call.shapeOf(index, signature),
          parts: rows,
          bytes: sizeOf(rows),
          binary,
        };
      const { batched, maxBatch } = signature;
      const isOneAnswer = !batched && maxBatch !== undefined;
      const n = isOneAnswer ? call.shapeOf(index, signature)[0] : count;
      const parted = isOneAnswer ? partsOf(rows[0], n) : rows;
      const texts = classesOf({ name, datatype, labels: labels?.[index] ?? null }, parted, classes);
      const each = texts.length / Math.max(1, n);
      const parts = [bytesOfTexts(texts)];
      const shape = batched || isOneAnswer ? [n, each] : [each];
      return { name, datatype: 'BYTES', shape, parts, bytes: sizeOf(parts), binary };
    }),
  };
}

/** Parts of equal size. */
function partsOf(bytes: Uint8Array, count: number): Uint8Array[] {
  const each = bytes.length / count;
  return Array.from({ length: count }, (_, at) => bytes.slice(at * each, (at + 1) * each));
}

function sizeOf(parts: readonly Uint8Array[]): number {
  return parts.reduce((sum, { length }) => sum + length, 0);
}

/**
 * Most bytes that an answer can take; free sizes count as 1, as they are not known yet. Throws an `ApiError` if that is more
 * than `limitBytes`.
 */
export function expectedBytes(signature: ModelSignature, asked: Inference, limitBytes: number): number {
  const outputs = asked.outputs.map(({ index, binary }) => {
    const output = signature.outputs[index];
    const bytes = asked.length > 0 ? bytesAtLength(output, asked.length) : output.bytes;
    return { datatype: output.datatype, bytes: asked.count * bytes, binary };
  });
  return mostBytes(outputs, limitBytes);
}

/** Most bytes that outputs can take in an answer, numbers in JSON counted as the longest of their type. Throws an `ApiError`. */
export function mostBytes(
  outputs: readonly Pick<AnswerOutput, 'datatype' | 'bytes' | 'binary'>[],
  limitBytes: number,
): number {
  let most = 0;
  for (const { datatype, bytes, binary } of outputs)
    if (binary) most += bytes;
    // A control character is six in JSON.
    else if (datatype === 'BYTES') most += 6 * bytes;
    else most += (bytes / DATATYPES[datatype].bytes) * (LONGEST[datatype] + 1);
  if (most <= limitBytes) return most;
  throw new ApiError(
    'tooLarge',
    `the answer could have ${most} bytes, of at most ${limitBytes}: ask for fewer outputs or a smaller batch, or for binary data`,
  );
}

/** "-0.00006103515625", "-1.2345678901234567e-308". */
const FLOAT = 24;
const LONGEST: Readonly<Record<Exclude<Datatype, 'BYTES'>, number>> = {
  ...{ BOOL: 5, UINT8: 3, UINT16: 5, UINT32: 10, UINT64: 20, INT8: 4, INT16: 6, INT32: 11, INT64: 20 },
  ...{ FP16: FLOAT, FP32: FLOAT, FP64: FLOAT },
};

/** An output, as texts instead of numbers. */
interface ClassifiedOutput {
  readonly name: string;
  readonly datatype: Datatype;
  /** Names of its elements; null: they have none. */
  readonly labels: readonly string[] | null;
}

/**
 * The `count` largest elements of each row of an output as "value:index" or "value:index:label", the largest first
 * (classification extension). Throws an `ApiError` for an output without numbers, or with too many.
 */
function classesOf(
  { name, datatype, labels }: ClassifiedOutput,
  rows: readonly Uint8Array[],
  count: number,
): string[] {
  if (datatype === 'BYTES') throw new ApiError('invalid', `output ${shown(name)}: texts have no classes`);
  const texts: string[] = [];
  let elements = 0;
  for (const row of rows) {
    const values = numbersOf(datatype, row);
    elements += values.length;
    if (elements > MOST_CLASSIFIED)
      throw new ApiError(
        'tooLarge',
        `output ${shown(name)}: more than ${MOST_CLASSIFIED} elements to classify`,
      );
    for (const index of largest(values, Math.min(count, values.length))) {
      const label = labels?.[index];
      texts.push(label === undefined ? `${values[index]}:${index}` : `${values[index]}:${index}:${label}`);
    }
  }
  return texts;
}

/** Indices of the largest values, the largest first, the first of equal ones first. */
function largest(values: ArrayLike<number>, count: number): readonly number[] {
  const top = new TinyQueue<number>([], (a, b) => compare(values[a], values[b]) || b - a);
  for (let index = 0; index < values.length; index++) {
    const least = top.length < count ? undefined : top.peek();
    if (least !== undefined && compare(values[index], values[least]) <= 0) continue;
    if (least !== undefined) top.pop();
    top.push(index);
  }
  return Array.from({ length: top.length }, () => top.pop() as number).reverse();
}

/** NaN is not a size, so it sorts last. */
function compare(a: number, b: number): number {
  if (Number.isNaN(a)) return Number.isNaN(b) ? 0 : -1;
  if (Number.isNaN(b)) return 1;
  return a < b ? -1 : a > b ? 1 : 0;
}
