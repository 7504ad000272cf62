import { Action, STATUS_OK } from '../../../core/action.js';
import type { ActionMessage, ResultMessage } from '../../messages.js';
import type { Shape } from '../../model.js';
import { anyLarge } from './transfer.js';

/** An action as an executor runs it: with its tensors, and with what went wrong. */
export class LiveAction extends Action {
  /** Empty while they are with the thread that runs it. */
  inputs: readonly Uint8Array<ArrayBuffer>[];
  /** They were handed over, and have to go back if it does not run. */
  readonly handedOver: boolean;
  /** Of the inputs; see the message. */
  readonly shapes: readonly Shape[] | undefined;
  copyInNs = 0;
  copyOutNs = 0;
  outputs: readonly Uint8Array<ArrayBuffer>[] = [];
  outputShapes: readonly Shape[] | undefined;
  error = '';
  inputErrors: ResultMessage['inputErrors'];
  /** Its inputs are with the thread that runs it, and they have not been used yet. */
  staged = false;
  /** Its outputs are here. */
  delivered = false;

  constructor(message: ActionMessage) {
    // Which requests are in it is the controller's business.
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
    this.handedOver = anyLarge(message.inputs);
    this.shapes = message.shapes;
  }

  toResult(): ResultMessage {
    const { id, gpu, status, beginNs, endNs, copyInNs, copyOutNs, error, inputErrors } = this;
    // It may have run well and be void all the same, when its weights were given up meanwhile.
    const outputs = status === STATUS_OK ? this.outputs : [];
    const shapes = this.outputShapes;
    const inputs = this.handedOver && status !== STATUS_OK ? this.inputs : undefined;
    const times = { beginNs, endNs, copyInNs, copyOutNs };
    return { id, gpu, status, ...times, outputs, shapes, error, inputErrors, inputs };
  }
}
