import { type ActionMessage, DROPPED, RETURNED, type ResultMessage } from '../../messages.js';
import { LARGE_BYTES } from '../../transfer.js';
import { withKept } from '../../wire/worker-call.js';

/** Memory of a worker for tensors between the steps of pipelines, of all its streams. */
export interface KeptMemory {
  readonly mostBytes: number;
  usedBytes: number;
  /** Size of all tensors that were ever kept. */
  totalBytes: number;
}

/** Outputs that later actions of a controller need: kept from their result until it forgets them, or its stream ends. */
export class KeptTensors {
  private readonly tensors = new Map<number, Uint8Array<ArrayBuffer>>();
  /** By action without a result: uses of its outputs. */
  private readonly uses = new Map<number, readonly number[]>();

  constructor(
    private readonly memory: KeptMemory,
    /** Largest tensor that the controller can fetch. */
    private readonly mostBytesEach: number,
  ) {}

  /** The action with its kept inputs; some are left if they are not here. */
  begin(action: ActionMessage): ActionMessage {
    const { id, keep } = action;
    if (keep !== undefined) this.uses.set(id, keep);
    return action.kept === undefined ? action : withKept(action, (key) => this.tensors.get(key));
  }

  /** Call if actions without a result will never have one. */
  dropActions(): void {
    this.uses.clear();
  }

  /**
   * The result without the outputs that are kept or of no use. Small tensors are returned, since asking for them later
   * would cost more, and so is what exceeds the memory.
   */
  end(result: ResultMessage): ResultMessage {
    const { id, outputs } = result;
    const uses = this.uses.get(id);
    this.uses.delete(id);
    // Small tensors of a batch are in one part.
    if (uses?.length !== outputs.length) return result;
    const kept: number[] = [];
    const returned = outputs.map((output, i) => {
      const use = uses[i];
      if (use === RETURNED || (use !== DROPPED && !this.keep(use, output))) return output;
      if (use !== DROPPED) kept.push(use);
      return NOTHING;
    });
    return { ...result, outputs: returned, kept };
  }

  /** Kept tensor; undefined: there is none. */
  get(key: number): Uint8Array<ArrayBuffer> | undefined {
    return this.tensors.get(key);
  }

  forget(keys: Iterable<number>): void {
    for (const key of keys) {
      this.memory.usedBytes -= this.tensors.get(key)?.length ?? 0;
      this.tensors.delete(key);
    }
  }

  clear(): void {
    this.uses.clear();
    this.forget(this.tensors.keys());
  }

  private keep(key: number, tensor: Uint8Array<ArrayBuffer>): boolean {
    const { memory } = this;
    const { length } = tensor;
    const fits = length <= this.mostBytesEach && memory.usedBytes + length <= memory.mostBytes;
    if (length <= LARGE_BYTES || !fits) return false;
    this.tensors.set(key, tensor);
    memory.usedBytes += length;
    memory.totalBytes += length;
    return true;
  }
}

const NOTHING = new Uint8Array();
