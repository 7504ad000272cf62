import { ABORT, INFER, LOAD, UNLOAD } from '../../core/action.js';
import type { WorkerDescription } from '../messages.js';
import type { WireAction } from './protocol.js';

/** Says what is wrong with an action that cannot be meant for this worker; '' if nothing is. */
export function actionProblem(action: WireAction, { gpus, models }: WorkerDescription): string {
  const { id, gpu, kind, model, batchIndex, count, inputs } = action;
  const at = `action ${id}`;
  if (!isIndex(gpu, gpus.length)) return `${at}: there is no GPU ${gpu}, only ${gpus.length}`;
  if (!isIndex(model, models.length)) return `${at}: there is no model ${model}, only ${models.length}`;
  if (kind === LOAD || kind === UNLOAD || kind === ABORT) return '';
  if (kind !== INFER) return `${at}: unknown kind ${kind}`;
  const { spec, signature } = models[model];
  if (!isIndex(batchIndex, spec.batchSizes.length))
    return `${at}: ${spec.name} has no batch size ${batchIndex}`;
  const batchSize = spec.batchSizes[batchIndex];
  if (count < 1 || count > batchSize) return `${at}: ${count} requests in a batch of ${batchSize}`;
  if (inputs.length !== signature.inputs.length)
    return `${at}: ${inputs.length} inputs, ${spec.name} has ${signature.inputs.length}`;
  for (let i = 0; i < inputs.length; i++) {
    const wanted = count * signature.inputs[i].bytes;
    if (inputs[i].byteLength !== wanted)
      return `${at}: input ${signature.inputs[i].name} has ${inputs[i].byteLength} bytes, not ${wanted}`;
  }
  return '';
}

function isIndex(value: number, length: number): boolean {
  return value >= 0 && value < length;
}
