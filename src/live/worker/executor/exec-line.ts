import type { ResultMessage } from '../../messages.js';

/** Side whose turn it is. */
const IDLE = 0;
const ASKED = 1;
const ENDED = 2;

/** Layout in bytes: an id and four times, then two small numbers. */
const NUMBERS = 5;
const NUMBERS_BYTES = NUMBERS * Float64Array.BYTES_PER_ELEMENT;
const CELLS_BYTES = 2 * Int32Array.BYTES_PER_ELEMENT;
const ID = 0;
const BEGIN_NS = 1;
const END_NS = 2;
const COPY_IN_NS = 3;
const COPY_OUT_NS = 4;
const STATE = 0;
const STATUS = 1;

/** Result of an INFER, without its outputs. */
export type ExecEnd = Pick<ResultMessage, 'status' | 'beginNs' | 'endNs' | 'copyInNs' | 'copyOutNs'>;

/**
 * Handover of the EXEC lane between an executor thread and a host thread: one INFER at a time, by shared memory. A
 * message costs both of them ten times as much right after an INFER, when the weights have displaced the caches
 * (measured: 60 µs instead of 8), and the lane idles for as long.
 */
export class ExecLine {
  private readonly numbers: Float64Array<SharedArrayBuffer>;
  private readonly cells: Int32Array<SharedArrayBuffer>;

  constructor(readonly buffer: SharedArrayBuffer = new SharedArrayBuffer(NUMBERS_BYTES + CELLS_BYTES)) {
    this.numbers = new Float64Array(buffer, 0, NUMBERS);
    this.cells = new Int32Array(buffer, NUMBERS_BYTES, 2);
  }

  /** For the executor thread: requests the INFER of this action, which has been staged. Raise the signal afterwards. */
  ask(id: number): void {
    this.numbers[ID] = id;
    Atomics.store(this.cells, STATE, ASKED);
  }

  /** For the host thread: requested action; −1: none. */
  get asked(): number {
    return Atomics.load(this.cells, STATE) === ASKED ? this.numbers[ID] : -1;
  }

  /** For the host thread: ends the requested action. Raise the signal afterwards. */
  end({ status, beginNs, endNs, copyInNs, copyOutNs }: ExecEnd): void {
    this.numbers[BEGIN_NS] = beginNs;
    this.numbers[END_NS] = endNs;
    this.numbers[COPY_IN_NS] = copyInNs;
    this.numbers[COPY_OUT_NS] = copyOutNs;
    this.cells[STATUS] = status;
    Atomics.store(this.cells, STATE, ENDED);
  }

  /** For the executor thread: end of the action that it requested, once; null: not yet. */
  takeEnd(): ExecEnd | null {
    if (Atomics.load(this.cells, STATE) !== ENDED) return null;
    Atomics.store(this.cells, STATE, IDLE);
    const { numbers } = this;
    return {
      status: this.cells[STATUS],
      beginNs: numbers[BEGIN_NS],
      endNs: numbers[END_NS],
      copyInNs: numbers[COPY_IN_NS],
      copyOutNs: numbers[COPY_OUT_NS],
    };
  }
}
