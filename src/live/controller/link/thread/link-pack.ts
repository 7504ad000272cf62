import type { ActionKind } from '../../../../core/action.js';
import type { ActionMessage, ResultMessage } from '../../../messages.js';
import { addTensors, extrasOf, openPacked, Packer, takeTensors } from '../../../packer.js';
import { OpenParcel, Parcel, type ParcelContents } from '../../../parcel.js';
import type { ReturnedInputs } from '../worker-link.js';
import type { PackedActions, PackedResults } from './link-messages.js';

type Extra<T> = T extends { readonly extras: readonly (infer E)[] } ? E : never;

/** Packs the actions of one step into one message. Large inputs move with it, as a machine takes them. */
export class ActionPacker extends Packer<Extra<PackedActions>> {
  add(link: number, action: ActionMessage): void {
    const { parcel } = this;
    const { inputs, shapes } = action;
    parcel.addNumber(link);
    parcel.addNumber(action.id);
    parcel.addNumber(action.gpu);
    parcel.addNumber(action.kind);
    parcel.addNumber(action.model);
    parcel.addNumber(action.batchIndex);
    parcel.addNumber(action.bucket ?? 0);
    parcel.addNumber(action.count);
    parcel.addNumber(action.earliestNs);
    parcel.addNumber(action.latestNs);
    addInputs(parcel, inputs);
    if (shapes !== undefined) this.extras.push({ nth: this.count, shapes });
    this.count++;
  }
}

/** Calls `use` with each action of a message. */
export function unpackActions(
  packed: PackedActions,
  use: (link: number, action: ActionMessage) => void,
): void {
  const extras = extrasOf(packed);
  const parcel = openPacked(packed);
  let extra = 0;
  for (let nth = 0; !parcel.isEmpty; nth++) {
    const link = parcel.takeNumber();
    const id = parcel.takeNumber();
    const gpu = parcel.takeNumber();
    const kind = parcel.takeNumber() as ActionKind;
    const model = parcel.takeNumber();
    const batchIndex = parcel.takeNumber();
    const bucket = parcel.takeNumber();
    const count = parcel.takeNumber();
    const earliestNs = parcel.takeNumber();
    const latestNs = parcel.takeNumber();
    const inputs = takeTensors(parcel);
    const shapes = extras[extra]?.nth === nth ? extras[extra++].shapes : undefined;
    use(link, { id, gpu, kind, model, batchIndex, bucket, count, earliestNs, latestNs, inputs, shapes });
  }
}

/** Packs the results of one turn into one message. Large outputs in buffers of their own move with it. */
export class ResultPacker extends Packer<Extra<PackedResults>> {
  /** `inputs`: those of an INFER that did not run; they move, too. */
  add(link: number, result: ResultMessage, inputs: ActionMessage['inputs']): void {
    const { parcel } = this;
    const { shapes, error, inputErrors } = result;
    parcel.addNumber(link);
    parcel.addNumber(result.id);
    parcel.addNumber(result.gpu);
    parcel.addNumber(result.status);
    parcel.addNumber(result.beginNs);
    parcel.addNumber(result.endNs);
    parcel.addNumber(result.copyInNs);
    parcel.addNumber(result.copyOutNs);
    addTensors(parcel, result.outputs);
    addInputs(parcel, inputs);
    if (shapes !== undefined || error !== '' || inputErrors !== undefined)
      this.extras.push({ nth: this.count, shapes, error, inputErrors });
    this.count++;
  }
}

const NOTHING_RARE = { shapes: undefined, error: '', inputErrors: undefined };

/** Calls `use` with each result of a message. */
export function unpackResults(
  packed: PackedResults,
  use: (link: number, result: ResultMessage) => void,
): void {
  const extras = extrasOf(packed);
  const parcel = openPacked(packed);
  let extra = 0;
  for (let nth = 0; !parcel.isEmpty; nth++) {
    const link = parcel.takeNumber();
    const id = parcel.takeNumber();
    const gpu = parcel.takeNumber();
    const status = parcel.takeNumber();
    const beginNs = parcel.takeNumber();
    const endNs = parcel.takeNumber();
    const copyInNs = parcel.takeNumber();
    const copyOutNs = parcel.takeNumber();
    const outputs = takeTensors(parcel);
    const returned = takeTensors(parcel);
    const inputs = returned.length === 0 ? undefined : returned;
    const rare = extras[extra]?.nth === nth ? extras[extra++] : null;
    const { shapes, error, inputErrors } = rare ?? NOTHING_RARE;
    const times = { beginNs, endNs, copyInNs, copyOutNs };
    use(link, { id, gpu, status, ...times, outputs, shapes, error, inputErrors, inputs });
  }
}

/** Copies, since the originals may still be needed for sending. */
export function packInputs(inputs: ReturnedInputs): ReturnType<Parcel['seal']> {
  const parcel = new Parcel();
  for (const [id, tensors] of inputs) {
    parcel.addNumber(id);
    parcel.addNumber(tensors.length);
    for (const tensor of tensors) parcel.add(tensor, false);
  }
  return parcel.seal();
}

export function unpackInputs(contents: ParcelContents): ReturnedInputs {
  const parcel = new OpenParcel(contents);
  const inputs = new Map<number, ActionMessage['inputs']>();
  while (!parcel.isEmpty) {
    const id = parcel.takeNumber();
    inputs.set(id, takeTensors(parcel));
  }
  return inputs;
}

/** All inputs in one buffer belong to one action. */
function addInputs(parcel: Parcel, inputs: ActionMessage['inputs']): void {
  parcel.addNumber(inputs.length);
  for (let i = 0; i < inputs.length; i++) parcel.add(inputs[i], true);
}
