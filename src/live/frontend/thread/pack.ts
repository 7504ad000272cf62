import { MOST_CLASSES } from '../../../core/classes.js';
import type { Outcome } from '../../../core/request.js';
import { MOST_TENANTS } from '../../../core/tenants.js';
import { addTensors, extrasOf, openPacked, Packer, takeTensors } from '../../packer.js';
import type { InferenceAnswer, InferenceRequest } from '../../service.js';
import type { PackedAnswers, PackedRequests } from './thread-messages.js';

type Extras<T> = T extends { readonly extras: readonly (infer E)[] } ? E[] : never;

/** Packs the requests of one turn into one message. */
export class RequestPacker extends Packer<Extras<PackedRequests>[number]> {
  add(id: number, request: InferenceRequest, arrivalNs: number): void {
    const { parcel } = this;
    const { model, user, sloNs, inputs, shapes, trace = null, mayMove = false } = request;
    const { requestClass = 0, tenant = 0, length = 0 } = request;
    parcel.addNumber(id);
    parcel.addNumber(model);
    parcel.addNumber(user);
    parcel.addNumber(requestClass + MOST_CLASSES * (tenant + MOST_TENANTS * length));
    parcel.addNumber(arrivalNs);
    parcel.addNumber(sloNs);
    parcel.addNumber(inputs.length);
    for (let i = 0; i < inputs.length; i++) parcel.add(inputs[i], mayMove);
    if (shapes !== undefined || trace !== null) this.extras.push({ nth: this.count, shapes, trace });
    this.count++;
  }
}

/** Calls `use` with each request of a message; `done` is to be added to it. Literals here and below: a spread takes microseconds. */
export function unpackRequests(
  packed: PackedRequests,
  use: (id: number, request: Omit<InferenceRequest, 'done'>) => void,
): void {
  const extras = extrasOf(packed);
  const parcel = openPacked(packed);
  let extra = 0;
  for (let nth = 0; !parcel.isEmpty; nth++) {
    const id = parcel.takeNumber();
    const model = parcel.takeNumber();
    const user = parcel.takeNumber();
    const sender = parcel.takeNumber();
    const arrivalNs = parcel.takeNumber();
    const sloNs = parcel.takeNumber();
    const inputs = takeTensors(parcel);
    const rare = extras[extra]?.nth === nth ? extras[extra++] : null;
    const trace = rare === null ? null : rare.trace;
    const requestClass = sender % MOST_CLASSES;
    const tenant = Math.floor(sender / MOST_CLASSES) % MOST_TENANTS;
    const length = Math.floor(sender / (MOST_CLASSES * MOST_TENANTS));
    use(id, {
      model,
      user,
      requestClass,
      tenant,
      length,
      arrivalNs,
      sloNs,
      trace,
      inputs,
      shapes: rare?.shapes,
      mayMove: true,
    });
  }
}

/** Packs the answers of one turn into one message. */
export class AnswerPacker extends Packer<Extras<PackedAnswers>[number]> {
  /** Large outputs in buffers of their own go over; what is part of a larger buffer is copied. */
  add(id: number, answer: InferenceAnswer): void {
    const { parcel } = this;
    const { outcome, outputs, shapes, predictedNs, passedNs = 0, batchSize, error } = answer;
    const { isOfInputs, isOverLimit, waitedFor = '' } = answer;
    parcel.addNumber(id);
    parcel.addNumber(outcome);
    parcel.addNumber(predictedNs);
    parcel.addNumber(passedNs);
    parcel.addNumber(batchSize);
    addTensors(parcel, outputs);
    if (shapes !== undefined || error !== '' || waitedFor !== '')
      this.extras.push({ nth: this.count, shapes, error, isOfInputs, isOverLimit, waitedFor });
    this.count++;
  }
}

/** Calls `use` with each answer of a message. */
export function unpackAnswers(
  packed: PackedAnswers,
  use: (id: number, answer: InferenceAnswer) => void,
): void {
  const extras = extrasOf(packed);
  const parcel = openPacked(packed);
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
    const { shapes, isOfInputs, isOverLimit, waitedFor } = rare ?? NOTHING_RARE;
    use(id, {
      outcome,
      predictedNs,
      passedNs,
      batchSize,
      outputs,
      shapes,
      error,
      isOfInputs,
      isOverLimit,
      waitedFor,
    });
  }
}

const NOTHING_RARE = { shapes: undefined, isOfInputs: undefined, isOverLimit: undefined, waitedFor: '' };
