import { Action, STATUS_OK } from '../../../core/action.js';
import type { ActionMessage, ResultMessage } from '../../messages.js';
import type { Shape } from '../../model.js';

/** An action as run by an executor: with its tensors, and its errors. */
export class LiveAction extends Action {
  /** Empty once they are with the thread that runs it. */
  inputs: readonly Uint8Array[];
  /** Shapes of the inputs; see the message. */
  readonly shapes: readonly Shape[] | undefined;
  copyInNs = 0;
  copyOutNs = 0;
  outputs: readonly Uint8Array<ArrayBuffer>[] = [];
  outputShapes: readonly Shape[] | undefined;
  error = '';
  inputErrors: ResultMessage['inputErrors'];
  /** True if its inputs are with the thread that runs it, and still unused. */
  staged = false;
  /** True if its outputs are here. */
  delivered = false;

  constructor(message: ActionMessage) {
    // Only the controller knows its requests.
    super(0);
    this.id = message.id;
    this.kind = message.kind;
    this.gpu = message.gpu;
    this.model = message.model;
    this.batchIndex = message.batchIndex;
    this.bucket = message.bucket ?? 0;
    this.count = message.count;
    this.earliestNs = message.earliestNs;
    this.latestNs = message.latestNs;
    this.inputs = message.inputs;
    this.shapes = message.shapes;
  }

  toResult(): ResultMessage {
    const { id, gpu, status, beginNs, endNs, copyInNs, copyOutNs, error, inputErrors } = this;
    // A successful run is void if its weights were dropped meanwhile.
    const outputs = status === STATUS_OK ? this.outputs : [];
    const shapes = this.outputShapes;
    const times = { beginNs, endNs, copyInNs, copyOutNs };
    return { id, gpu, status, ...times, outputs, shapes, error, inputErrors };
  }
}
