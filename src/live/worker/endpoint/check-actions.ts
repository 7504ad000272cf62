import { ABORT, INFER, LOAD, UNLOAD } from '../../../core/action.js';
import { lengthOfInputs } from '../../lengths.js';
import type { ActionMessage } from '../../messages.js';
import { bytesOfShape, DATATYPES, fitsShape, hasFreeSizes, type ServedModel } from '../../model.js';
import { textsProblem } from '../../texts.js';
import type { Machine } from '../machine.js';

/** Problem of an action that cannot be meant for this worker; '' if none. */
export function actionProblem(
  action: ActionMessage,
  { description: { gpus }, models }: Pick<Machine, 'description' | 'models'>,
): string {
  const { id, gpu, kind, model, batchIndex, count, inputs, shapes = [] } = action;
  const at = `action ${id}`;
  if (!isIndex(gpu, gpus.length)) return `${at}: there is no GPU ${gpu}, only ${gpus.length}`;
  const found = isIndex(model, models.length) ? models[model] : null;
  // An UNLOAD may be of a model unknown to this controller.
  if (found === null && kind !== ABORT && kind !== UNLOAD) return `${at}: there is no model ${model}`;
  if (kind === LOAD || kind === UNLOAD || kind === ABORT) return '';
  if (kind !== INFER) return `${at}: unknown kind ${kind}`;
  if (found === null) return `${at}: there is no model ${model}`;
  if (action.kept !== undefined) return `${at}: it needs a tensor that is not kept`;
  const { spec, signature } = found;
  if (!isIndex(batchIndex, spec.batchSizes.length))
    return `${at}: ${spec.name} has no batch size ${batchIndex}`;
  const batchSize = spec.batchSizes[batchIndex];
  if (count < 1 || count > batchSize) return `${at}: ${count} requests in a batch of ${batchSize}`;
  const wantedInputs = signature.inputs.length;
  if (inputs.length !== wantedInputs && inputs.length !== count * wantedInputs)
    return `${at}: ${inputs.length} inputs, ${spec.name} has ${wantedInputs}`;
  // All requests of one input in one part, or each in its own.
  const requestsEach = inputs.length === wantedInputs ? count : 1;
  if (signature.lengths !== undefined) return lengthProblem(action, found, at);
  const isFree = hasFreeSizes(signature);
  if (isFree && (shapes.length !== wantedInputs || inputs.length !== count * wantedInputs))
    return `${at}: ${shapes.length} shapes for ${inputs.length} inputs of ${count} requests of ${spec.name}`;
  for (let i = 0; i < inputs.length; i++) {
    const { name, datatype, shape, bytes } = signature.inputs[i % wantedInputs];
    const given = shapes[i % wantedInputs];
    if (isFree && (!fitsShape(given, shape) || (count > 1 && given[0] !== 1)))
      return `${at}: input ${name} has the shape [${given.join(',')}], not [${shape.join(',')}]`;
    const wanted = isFree ? bytesOfShape(datatype, given) : requestsEach * bytes;
    if (datatype === 'BYTES') {
      const problem = textsProblem(inputs[i], wanted / DATATYPES.BYTES.bytes);
      if (problem !== '') return `${at}: input ${name}: ${problem}`;
    } else if (inputs[i].byteLength !== wanted)
      return `${at}: input ${name} has ${inputs[i].byteLength} bytes, not ${wanted}`;
  }
  return '';
}

/** Problem of the inputs of a model with several lengths, each request in its own parts. */
function lengthProblem(
  { bucket = 0, count, inputs }: ActionMessage,
  { spec, signature }: ServedModel,
  at: string,
): string {
  const { buckets } = signature.lengths ?? { buckets: [] };
  if (!isIndex(bucket, buckets.length)) return `${at}: ${spec.name} has no length ${bucket}`;
  const each = signature.inputs.length;
  if (inputs.length !== count * each)
    return `${at}: ${inputs.length} inputs of ${count} requests, ${spec.name} has ${each}`;
  for (let r = 0; r < count; r++) {
    const length = lengthOfInputs(signature, inputs, r * each);
    if (length < 1 || length > buckets[bucket])
      return `${at}: inputs of request ${r} are of no length up to ${buckets[bucket]}`;
  }
  return '';
}

function isIndex(value: number, length: number): boolean {
  return value >= 0 && value < length;
}
