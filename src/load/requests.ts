import { EscapementError } from '../base/errors.js';
import { stream } from '../base/random/streams.js';
import { NS_PER_MS } from '../base/units.js';
import { lengthFor, type ModelDescription } from './description.js';
import { payloadTensors } from './payload-tensors.js';
import type { LoadRequest, TargetOptions } from './target.js';
import { type InputTensor, TensorMaker } from './tensors.js';

/** A request to encode. */
export interface RequestSpec {
  readonly model: string;
  readonly version: string | undefined;
  readonly sloMs: number;
  /** Length of its inputs; 0 if all have the same. */
  readonly length: number;
  /** The protocol's priority of its class; null if it has none. */
  readonly priority: number | null;
  /** Header, or metadata key, and name of its tenant; null if it has none. */
  readonly tenant: readonly [string, string] | null;
  readonly tensors: readonly InputTensor[];
}

/** Largest number of cached messages; with more kinds of requests, some are encoded again. */
const MOST_MESSAGES = 4096;

/**
 * Encoder for the requests of a run, with random tensors or given payloads; most requests of a model are equal, so their
 * messages are kept. Throws `E_SERVER` if a server describes too little for that, `E_USAGE` if payloads do not fit a model.
 */
export function requestEncoder<M>(
  server: string,
  options: TargetOptions,
  descriptions: readonly ModelDescription[],
  encode: (spec: RequestSpec) => M,
): (request: LoadRequest) => M {
  const { models, rows, payloads, senders } = options;
  const maker = new TensorMaker(stream(options.seed, 'load-tensors'));
  const files = models.map((model, i) =>
    (payloads?.(model) ?? []).map((file) =>
      payloadTensors(file, model, descriptions[i].inputs).map((tensor) => repeated(tensor, rows?.[i] ?? 1)),
    ),
  );
  const tensorsOf = (model: number, length: number, turn: number): readonly InputTensor[] => {
    const { inputs } = descriptions[model];
    if (files[model].length > 0) return files[model][turn];
    if (inputs === null) throw undescribedInputs(server, models[model]);
    return maker.inputs(models[model], inputs, rows?.[model], length || 1);
  };
  const messages = new Map<string, M>();
  const turns = models.map(() => 0);
  const messageOf = ({ model, sloNs, requestClass = 0, tenant = 0, length: asked = 0 }: LoadRequest): M => {
    const turn = files[model].length > 0 ? turns[model]++ % files[model].length : 0;
    const length = files[model].length > 0 ? 0 : lengthFor(descriptions[model], asked);
    const key = `${model} ${sloNs} ${requestClass} ${tenant} ${length} ${turn}`;
    let message = messages.get(key);
    if (message !== undefined) return message;
    const name = senders?.tenants[tenant];
    message = encode({
      model: models[model],
      version: descriptions[model].version,
      sloMs: sloNs / NS_PER_MS,
      length,
      priority: senders?.priorities[requestClass] ?? null,
      tenant: name === undefined ? null : [senders?.header as string, name],
      tensors: tensorsOf(model, length, turn),
    });
    if (messages.size === MOST_MESSAGES) messages.clear();
    messages.set(key, message);
    return message;
  };
  // Reports encoding errors before the run.
  for (let model = 0; model < models.length; model++)
    for (let turn = 0; turn < Math.max(1, files[model].length); turn++) messageOf({ model, sloNs: 0 });
  messages.clear();
  return messageOf;
}

/** Caches the result of `make` for each tensor's data, as long as the data is in use. */
export function oncePerData<T extends object>(make: (tensor: InputTensor) => T): (tensor: InputTensor) => T {
  const made = new WeakMap<Buffer, T>();
  return (tensor) => {
    const known = made.get(tensor.data) ?? make(tensor);
    made.set(tensor.data, known);
    return known;
  };
}

/** Up to this size one copy per message is cheaper than several pieces. */
const JOIN_BYTES = 16_384;

/** A message in one piece or, if it is large, in several, all but the first of which are shared between messages. */
export function joined(pieces: readonly Buffer[]): Buffer | readonly Buffer[] {
  return bytesOf(pieces) <= JOIN_BYTES ? Buffer.concat(pieces) : pieces;
}

export function bytesOf(pieces: readonly Buffer[]): number {
  return pieces.reduce((sum, { length }) => sum + length, 0);
}

/** Error for a server that does not describe a model's inputs. */
export function undescribedInputs(server: string, model: string): EscapementError {
  return new EscapementError(
    'E_SERVER',
    `${server} does not describe the inputs of model ${model}: give an infer request with them, --payload FILE.json`,
  );
}

/** Repeats the rows of a tensor. */
function repeated(tensor: InputTensor, times: number): InputTensor {
  if (times === 1) return tensor;
  const [rows = 1, ...row] = tensor.shape;
  const data = Buffer.concat(Array.from({ length: times }, () => tensor.data));
  return { ...tensor, shape: [rows * times, ...row], data };
}
