import { invariant } from '../../../base/invariant.js';
import { NS_PER_MS } from '../../../base/units.js';
import { INFER, STATUS_DEVICE_ERROR, STATUS_OK } from '../../../core/action.js';
import { isStatus } from '../../../core/status-names.js';
import { bytesAtLength, lengthOfInputs } from '../../lengths.js';
import { type ActionMessage, DROPPED, type ResultMessage } from '../../messages.js';
import { bytesOfShape, hasFreeSizes, type ModelSignature, type ServedModel } from '../../model.js';

/** Sent action that a result is checked against. */
interface Sent {
  readonly action: Pick<ActionMessage, 'gpu' | 'kind' | 'model' | 'count' | 'keep'>;
  /** Lengths of its requests, if the model takes several; empty otherwise. */
  readonly lengths: readonly number[];
  readonly sentNs: number;
}

/**
 * Checks a machine's results against what it was sent, so that no impossible result stops the controller, reaches a
 * client with the wrong size, or teaches the scheduler an impossible duration.
 */
export class ResultCheck {
  private readonly sent = new AscendingIds<Sent>();

  /** `models`: models of the machine by index, kept up to date. */
  constructor(private readonly models: readonly (ServedModel | null)[]) {}

  add({ id, gpu, kind, model, count, keep, inputs }: ActionMessage, sentNs: number): void {
    // A result without an id is of no use.
    if (id < 0) return;
    const signature = this.models[model]?.signature;
    const lengths = signature?.lengths === undefined || kind !== INFER ? NONE : lengthsOf(signature, inputs);
    this.sent.add(id, { action: { gpu, kind, model, count, keep }, lengths, sentNs });
  }

  /** Forgets all outstanding actions. */
  forget(): void {
    this.sent.clear();
  }

  /**
   * Returns the result with its times limited to what is possible, if the worker's clock is off by at most `errorNs`; null if it belongs to no action. Throws `Error` with words that follow "the worker" if the worker is not
   * to be trusted.
   */
  take(result: ResultMessage, nowNs: number, errorNs: number): ResultMessage | null {
    const { id, gpu, status } = result;
    const sent = this.sent.get(id);
    if (sent === null) return null;
    if (gpu !== sent.action.gpu)
      throw new Error(`answers for GPU ${gpu} an action of GPU ${sent.action.gpu}`);
    if (!isStatus(status)) throw new Error(`answers with the unknown status ${status}`);
    this.sent.take(id);
    const inputErrors = possibleErrors(result.inputErrors, sent.action);
    const times = possibleTimes(result, sent.sentNs - errorNs - TOLERANCE_NS, nowNs);
    if (status !== STATUS_OK || sent.action.kind !== INFER)
      return {
        ...result,
        ...times,
        outputs: [],
        shapes: undefined,
        kept: undefined,
        inputErrors,
      };
    const problem = this.outputProblem(result, sent);
    if (problem === '') return { ...result, ...times, inputErrors };
    return {
      ...result,
      ...times,
      status: STATUS_DEVICE_ERROR,
      outputs: [],
      shapes: undefined,
      kept: undefined,
      error: problem,
      inputErrors: undefined,
    };
  }

  private outputProblem({ outputs, shapes, kept = [] }: ResultMessage, { action, lengths }: Sent): string {
    const { model, count, keep = [] } = action;
    if (kept.some((key) => !keep.includes(key))) return 'the worker keeps what it was not asked to';
    const found = this.models[model];
    if (found === null || found === undefined) return 'the worker has no such model';
    const { spec, signature } = found;
    const wanted = signature.outputs;
    // All requests of one output in one part, or each in its own.
    const apart = outputs.length === count * wanted.length;
    if (!apart && (lengths.length > 0 || outputs.length !== wanted.length))
      return `the worker returned ${outputs.length} outputs, ${spec.name} has ${wanted.length}`;
    const isFree = hasFreeSizes(signature);
    if (isFree !== (shapes !== undefined) || (shapes !== undefined && shapes.length !== wanted.length))
      return `the worker returned ${shapes?.length ?? 'no'} shapes for the outputs of ${spec.name}`;
    for (let i = 0; i < outputs.length; i++) {
      const tensor = wanted[i % wanted.length];
      const { name, datatype } = tensor;
      const length = lengths[Math.floor(i / wanted.length)];
      const bytes = length === undefined ? tensor.bytes : bytesAtLength(tensor, length);
      const given = shapes?.[i % wanted.length];
      const bytesWanted = given === undefined ? (apart ? 1 : count) * bytes : bytesOfShape(datatype, given);
      const { byteLength } = outputs[i];
      if (byteLength === 0 && (keep[i] === DROPPED || kept.includes(keep[i]))) continue;
      // Texts vary in length: they are read by the frontend, in parallel with others, not by the scheduling thread.
      if (datatype === 'BYTES' ? byteLength < bytesWanted : byteLength !== bytesWanted)
        return `the worker returned ${byteLength} bytes of output ${name}, not ${bytesWanted}`;
    }
    return '';
  }
}

function lengthsOf(signature: ModelSignature, inputs: ActionMessage['inputs']): number[] {
  const each = signature.inputs.length;
  return Array.from({ length: inputs.length / each }, (_, r) => lengthOfInputs(signature, inputs, r * each));
}

const NONE: readonly never[] = [];

/** Tolerance for reading a clock before sending the message. */
const TOLERANCE_NS = NS_PER_MS;

/** One error per request, or none. */
function possibleErrors(
  errors: ResultMessage['inputErrors'],
  { kind, count }: Sent['action'],
): ResultMessage['inputErrors'] {
  return kind === INFER && errors?.length === count ? errors : undefined;
}

type Times = Pick<ResultMessage, 'beginNs' | 'endNs' | 'copyInNs' | 'copyOutNs'>;

/** Limits times, moving then shortening the action: nothing ends after its result came, nor starts before sending. */
function possibleTimes(result: ResultMessage, earliestNs: number, nowNs: number): Times {
  const backNs = Math.max(0, result.endNs - nowNs);
  const endNs = Math.max(result.endNs - backNs, earliestNs);
  const beginNs = Math.min(Math.max(result.beginNs - backNs, earliestNs), endNs);
  const copyInNs = Math.min(Math.max(0, result.copyInNs), endNs - beginNs);
  const copyOutNs = Math.min(Math.max(0, result.copyOutNs), endNs - beginNs - copyInNs);
  return { beginNs, endNs, copyInNs, copyOutNs };
}

/** Number of dead entries below which compaction is not worth it. */
const FEW = 64;

/**
 * Items by ascending id, most of them short-lived. A `Map` would leave its old tables behind, each referring to the
 * next: once one of them is in the old generation, the collector keeps all later ones alive.
 */
export class AscendingIds<T extends object> {
  private readonly ids: number[] = [];
  private readonly items: (T | null)[] = [];
  private size = 0;

  /** `id` must be larger than all before it. */
  add(id: number, item: T): void {
    const { ids, items } = this;
    invariant(ids.length === 0 || ids[ids.length - 1] < id, 'ids grow');
    if (ids.length >= FEW && 2 * this.size < ids.length) this.closeGaps();
    ids.push(id);
    items.push(item);
    this.size++;
  }

  /** Item with the id, or null. */
  get(id: number): T | null {
    return this.items[this.placeOf(id)] ?? null;
  }

  /** Removes and returns the item with the id, or null. */
  take(id: number): T | null {
    const place = this.placeOf(id);
    const item = this.items[place] ?? null;
    if (item === null) return null;
    this.items[place] = null;
    this.size--;
    return item;
  }

  clear(): void {
    this.ids.length = 0;
    this.items.length = 0;
    this.size = 0;
  }

  /** Oldest first; entries may be taken during iteration. */
  *[Symbol.iterator](): Generator<T> {
    for (const item of this.items) if (item !== null) yield item;
  }

  /** Index of an id; −1: it never existed, or was removed long ago. */
  private placeOf(id: number): number {
    const { ids } = this;
    let low = 0;
    let high = ids.length - 1;
    while (low <= high) {
      const middle = (low + high) >> 1;
      if (ids[middle] === id) return middle;
      if (ids[middle] < id) low = middle + 1;
      else high = middle - 1;
    }
    return -1;
  }

  private closeGaps(): void {
    const { ids, items } = this;
    let kept = 0;
    for (let i = 0; i < items.length; i++) {
      if (items[i] === null) continue;
      ids[kept] = ids[i];
      items[kept] = items[i];
      kept++;
    }
    ids.length = kept;
    items.length = kept;
  }
}
