import { EscapementError } from '../base/errors.js';
import { stream } from '../base/random/streams.js';
import { NS_PER_MS } from '../base/units.js';
import { lengthFor, type ModelDescription, someOf } from './description.js';
import { payloadTensors } from './payload-tensors.js';
import { plainLine } from './reply.js';
import type { LoadRequest, Senders, TargetOptions } from './target.js';
import { type InputTensor, TensorMaker } from './tensors.js';

/** A request without its SLO. */
export interface RequestSpec {
  readonly model: string;
  readonly version: string | undefined;
  /** The protocol's priority of its class; null if it has none. */
  readonly priority: number | null;
  /** Null if it has none. */
  readonly tenant: string | null;
  readonly tensors: readonly InputTensor[];
  /** Encoded parts shared by requests with equal tensors, by key. */
  readonly shared: Map<string, Buffer>;
}

/** Encodes requests of a protocol, starting with the part that does not depend on the SLO. */
type Encoder<M> = (spec: RequestSpec) => (sloMs: number) => M;

const NO_SENDERS: Senders = { priorities: [], header: null, tenants: [] };
/** Limit per class and tenant: requests of more lengths would take too much memory, so they are encoded again. */
const MOST_LENGTHS = 1024;

/**
 * Encoder for the requests of a run, with random tensors or given payloads. Throws `E_SERVER` if a server describes too
 * little for that, `E_USAGE` if payloads do not fit a model.
 */
export function requestEncoder<M>(
  server: string,
  options: TargetOptions,
  descriptions: readonly ModelDescription[],
  encoder: Encoder<M>,
): (request: LoadRequest) => M {
  const maker = new TensorMaker(stream(options.seed, 'load-tensors'));
  const tails = new Map<string, Buffer>();
  const models = options.models.map((model, i) => {
    const { version, inputs } = descriptions[i];
    const rows = options.rows?.[i] ?? 1;
    const payloads = (options.payloads?.(model) ?? []).map((file) => ({
      tensors: payloadTensors(file, model, inputs).map((tensor) => repeated(tensor, rows)),
      shared: new Map<string, Buffer>(),
    }));
    const encode = (sender: Sender, length: number): Encode<M> => {
      const one = (tensors: readonly InputTensor[], shared: Map<string, Buffer>) =>
        keepingLatest(encoder({ model, version, ...sender, tensors, shared }));
      if (payloads.length > 0) return inTurn(payloads.map(({ tensors, shared }) => one(tensors, shared)));
      if (inputs === null) throw undescribedInputs(server, model);
      // Inputs of one length are shared by all models; other lengths rarely repeat, and are too many to keep.
      return one(maker.inputs(model, inputs, rows, length || 1), length === 0 ? tails : new Map());
    };
    const lengthOf = (asked: number) => (payloads.length > 0 ? 0 : lengthFor(descriptions[i], asked));
    return new ModelRequests(lengthOf, encode, options.senders ?? NO_SENDERS);
  });
  return (request) => models[request.model].encode(request);
}

type Encode<M> = (sloNs: number) => M;
type Sender = Pick<RequestSpec, 'priority' | 'tenant'>;

/** The requests of one model, encoded on the first use of a class, tenant and length. */
class ModelRequests<M> {
  /** By class and tenant, then by length. */
  private readonly made = new Map<number, Map<number, Encode<M>>>();

  constructor(
    private readonly lengthOf: (asked: number) => number,
    private readonly make: (sender: Sender, length: number) => Encode<M>,
    private readonly senders: Senders,
  ) {
    // Reports encoding errors before the run.
    this.encodeOf(0, 0, 0);
  }

  encode({ sloNs, requestClass = 0, tenant = 0, length = 0 }: LoadRequest): M {
    return this.encodeOf(requestClass, tenant, length)(sloNs);
  }

  private encodeOf(requestClass: number, tenant: number, length: number): Encode<M> {
    const { priorities, tenants } = this.senders;
    const sender = requestClass * Math.max(1, tenants.length) + tenant;
    const byLength = this.made.get(sender) ?? new Map<number, Encode<M>>();
    this.made.set(sender, byLength);
    const own = this.lengthOf(length);
    const known = byLength.get(own);
    if (known !== undefined) return known;
    const named = { priority: priorities[requestClass] ?? null, tenant: tenants[tenant] ?? null };
    const made = this.make(named, own);
    if (byLength.size === MOST_LENGTHS) byLength.clear();
    byLength.set(own, made);
    return made;
  }
}

/** Caches the latest SLO, since most requests of a model share one. */
function keepingLatest<M>(encode: (sloMs: number) => M): Encode<M> {
  let latest: { readonly sloNs: number; readonly message: M } | null = null;
  return (sloNs) => {
    if (latest?.sloNs !== sloNs) latest = { sloNs, message: encode(sloNs / NS_PER_MS) };
    return latest.message;
  };
}

/** Cycles through encoders. */
function inTurn<M>(encodes: readonly Encode<M>[]): Encode<M> {
  let next = 0;
  return (sloNs) => encodes[next++ % encodes.length](sloNs);
}

/** Bytes shared by requests with equal tensors. */
export function sharedBytes(shared: Map<string, Buffer>, key: string, make: () => Buffer): Buffer {
  const bytes = shared.get(key) ?? make();
  shared.set(key, bytes);
  return bytes;
}

/** Up to this size one copy per model is cheaper than two pieces. */
const JOIN_BYTES = 16_384;

/** A message in one piece, or in two, of which the larger is shared. */
export function joined(head: Buffer, tail: Buffer): Buffer | readonly Buffer[] {
  return head.length + tail.length <= JOIN_BYTES ? Buffer.concat([head, tail]) : [head, tail];
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

/** Largest number of models named in a line. */
const MOST_NAMES = 3;

/**
 * Assumptions that requests make where the server says nothing, for people: one line for all models with the same ones.
 * `further`: those of one model, in addition to the general ones.
 */
export function assumptions(
  { models, payloads }: Pick<TargetOptions, 'models' | 'payloads'>,
  descriptions: readonly ModelDescription[],
  further: (model: number) => readonly string[] = () => [],
): string[] {
  const modelsBy = new Map<string, string[]>();
  for (const [i, model] of models.entries()) {
    const description = descriptions[i];
    const texts = [...assumedOf(description, payloads !== undefined), ...further(i)];
    if (texts.length === 0) continue;
    const text = texts.join('; ');
    modelsBy.set(text, [...(modelsBy.get(text) ?? []), model]);
  }
  return [...modelsBy].map(
    ([text, names]) =>
      `assumed for model${names.length === 1 ? '' : 's'} ${someOf(names, MOST_NAMES)}: ${text}`,
  );
}

function assumedOf({ version, inputs, lengths }: ModelDescription, hasPayloads: boolean): string[] {
  const random = hasPayloads ? [] : (inputs ?? []);
  const open = random.some(({ shape }) => shape.some((size, i) => i > 0 && size < 0));
  return [
    ...(version === undefined ? [] : [`version ${plainLine(version)}, the newest listed`]),
    ...(inputs === null ? ['inputs as in --payload'] : []),
    ...(open && lengths === undefined ? ['1, or the length of a request, for sizes left open'] : []),
    ...(random.some(({ datatype }) => datatype === 'BYTES') ? ['texts of 8 words for BYTES'] : []),
  ];
}
