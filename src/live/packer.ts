import { OpenParcel, Parcel, type ParcelContents } from './parcel.js';

/** A parcel, with extras that few of its items have; a text is a parcel of small items without extras. */
export type Packed<Extra> = string | { readonly contents: ParcelContents; readonly extras: readonly Extra[] };

/** Packs everything that one turn of the event loop has for another thread into one message. */
export class Packer<Extra> {
  protected readonly parcel = new Parcel();
  protected extras: Extra[] = [];
  protected count = 0;

  /** Returns the message, and starts the next. */
  take(): { readonly packed: Packed<Extra>; readonly transfer: ArrayBuffer[] } {
    const { contents, transfer } = this.parcel.seal();
    const { extras } = this;
    const { bytes, large } = contents;
    const isText = typeof bytes === 'string' && large.length === 0 && extras.length === 0;
    this.extras = [];
    this.count = 0;
    return { packed: isText ? bytes : { contents, extras }, transfer };
  }
}

export function openPacked(packed: Packed<unknown>): OpenParcel {
  return new OpenParcel(typeof packed === 'string' ? { bytes: packed, large: NONE } : packed.contents);
}

export function extrasOf<Extra>(packed: Packed<Extra>): readonly Extra[] {
  return typeof packed === 'string' ? NONE : packed.extras;
}

const NONE: readonly never[] = [];

/** Counterpart of `takeTensors`. A tensor that is part of a larger buffer is copied. */
export function addTensors(parcel: Parcel, tensors: readonly Uint8Array[]): void {
  parcel.addNumber(tensors.length);
  for (let i = 0; i < tensors.length; i++) {
    const isWhole = tensors[i].byteLength === tensors[i].buffer.byteLength;
    parcel.add(tensors[i], isWhole);
  }
}

/** Reads the number of tensors, then the tensors. */
export function takeTensors(parcel: OpenParcel): Uint8Array<ArrayBuffer>[] {
  const tensors = new Array<Uint8Array<ArrayBuffer>>(parcel.takeNumber());
  for (let i = 0; i < tensors.length; i++) tensors[i] = parcel.take();
  return tensors;
}
