import type { Outcome } from '../../../core/request.js';
import { OpenParcel, Parcel } from '../../parcel.js';
import type { InferenceAnswer, InferenceRequest } from '../../service.js';
import type { PackedAnswers, PackedRequests } from './thread-messages.js';

type Extras<T> = T extends { readonly extras: readonly (infer E)[] } ? E[] : never;

/** One message of all that one turn of the event loop has for the other thread. */
class Packer<Extra> {
  protected readonly parcel = new Parcel();
  protected extras: Extra[] = [];
  protected count = 0;

  /** Begins the next message. */
  take() {
    const { contents, transfer } = this.parcel.seal();
    const { extras } = this;
    const { bytes, large } = contents;
    const isText = typeof bytes === 'string' && large.length === 0 && extras.length === 0;
    this.extras = [];
    this.count = 0;
    return { packed: isText ? bytes : { contents, extras }, transfer };
  }
}

/** Packs the requests of one turn into one message. */
export class RequestPacker extends Packer<Extras<PackedRequests>[number]> {
  add(id: number, request: InferenceRequest, arrivalNs: number): void {
    const { parcel } = this;
    const { model, user, sloNs, inputs, shapes, trace = null, mayMove = false } = request;
    parcel.addNumber(id);
    parcel.addNumber(model);
    parcel.addNumber(user);
    parcel.addNumber(arrivalNs);
    parcel.addNumber(sloNs);
    parcel.addNumber(inputs.length);
    for (let i = 0; i < inputs.length; i++) parcel.add(inputs[i], mayMove);
    if (shapes !== undefined || trace !== null) this.extras.push({ nth: this.count, shapes, trace });
    this.count++;
  }
}

/** Calls `use` with each request of a message; `done` is to be added to it. */
export function unpackRequests(
  packed: PackedRequests,
  use: (id: number, request: Omit<InferenceRequest, 'done'>) => void,
): void {
  const extras = typeof packed === 'string' ? NONE : packed.extras;
  const parcel = openParcel(packed);
  let extra = 0;
  for (let nth = 0; !parcel.isEmpty; nth++) {
    const id = parcel.takeNumber();
    const model = parcel.takeNumber();
    const user = parcel.takeNumber();
    const arrivalNs = parcel.takeNumber();
    const sloNs = parcel.takeNumber();
    const inputs = takeTensors(parcel);
    const rare = extras[extra]?.nth === nth ? extras[extra++] : null;
    const trace = rare === null ? null : rare.trace;
    use(id, { model, user, arrivalNs, sloNs, trace, inputs, shapes: rare?.shapes, mayMove: true });
  }
}

/** Packs the answers of one turn into one message. */
export class AnswerPacker extends Packer<Extras<PackedAnswers>[number]> {
  /** Large outputs in buffers of their own go over; what is part of a larger buffer is copied. */
  add(id: number, answer: InferenceAnswer): void {
    const { parcel } = this;
    const { outcome, outputs, shapes, predictedNs, passedNs = 0, batchSize, error } = answer;
    parcel.addNumber(id);
    parcel.addNumber(outcome);
    parcel.addNumber(predictedNs);
    parcel.addNumber(passedNs);
    parcel.addNumber(batchSize);
    parcel.addNumber(outputs.length);
    for (let i = 0; i < outputs.length; i++) {
      const isWhole = outputs[i].byteLength === outputs[i].buffer.byteLength;
      parcel.add(outputs[i], isWhole);
    }
    if (shapes !== undefined || error !== '') this.extras.push({ nth: this.count, shapes, error });
    this.count++;
  }
}

/** Calls `use` with each answer of a message. */
export function unpackAnswers(
  packed: PackedAnswers,
  use: (id: number, answer: InferenceAnswer) => void,
): void {
  const extras = typeof packed === 'string' ? NONE : packed.extras;
  const parcel = openParcel(packed);
  let extra = 0;
  for (let nth = 0; !parcel.isEmpty; nth++) {
    const id = parcel.takeNumber();
    const outcome = parcel.takeNumber() as Outcome;
    const predictedNs = parcel.takeNumber();
    const passedNs = parcel.takeNumber();
    const batchSize = parcel.takeNumber();
    const outputs = takeTensors(parcel);
    const rare = extras[extra]?.nth === nth ? extras[extra++] : null;
    const error = rare === null ? '' : rare.error;
    use(id, { outcome, predictedNs, passedNs, batchSize, outputs, shapes: rare?.shapes, error });
  }
}

const NONE: readonly never[] = [];

function openParcel(packed: PackedRequests | PackedAnswers): OpenParcel {
  return new OpenParcel(typeof packed === 'string' ? { bytes: packed, large: NONE } : packed.contents);
}

function takeTensors(parcel: OpenParcel): Uint8Array<ArrayBuffer>[] {
  const tensors = new Array<Uint8Array<ArrayBuffer>>(parcel.takeNumber());
  for (let i = 0; i < tensors.length; i++) tensors[i] = parcel.take();
  return tensors;
}
