import { EscapementError } from '../base/errors.js';
import { stream } from '../base/random/streams.js';
import { lengthFor, type ModelDescription, someOf } from './description.js';
import { payloadTensors } from './payload-tensors.js';
import { plainLine } from './reply.js';
import { type Sender, SenderTemplates } from './senders.js';
import type { TargetOptions } from './target.js';
import { type RequestTemplate, TemplateCycle } from './template.js';
import { type InputTensor, TensorMaker } from './tensors.js';

/** One kind of request of a model. */
export interface RequestSpec {
  readonly model: string;
  readonly version: string | undefined;
  readonly sender: Sender;
  readonly tensors: readonly InputTensor[];
  /** What requests with equal tensors share, by what tells them apart. */
  readonly shared: Map<string, Buffer>;
}

/**
 * What makes the requests of each model, with random tensors or the payloads of the options; `encode`: as a protocol has them. Throws
 * `E_SERVER` if a server describes too little for that, `E_USAGE` if payloads are not what a model takes.
 */
export function requestMakers(
  server: string,
  options: TargetOptions,
  descriptions: readonly ModelDescription[],
  encode: (spec: RequestSpec) => RequestTemplate,
): SenderTemplates[] {
  const maker = new TensorMaker(stream(options.seed, 'load-tensors'));
  const tails = new Map<string, Buffer>();
  return options.models.map((model, i) => {
    const { version, inputs } = descriptions[i];
    const rows = options.rows?.[i] ?? 1;
    const payloads = (options.payloads?.(model) ?? []).map((file) => ({
      tensors: payloadTensors(file, model, inputs).map((tensor) => repeated(tensor, rows)),
      shared: new Map<string, Buffer>(),
    }));
    if (payloads.length > 0)
      return new SenderTemplates(
        () => 0,
        (sender) =>
          new TemplateCycle(payloads.map((payload) => encode({ model, version, sender, ...payload }))),
        options.senders,
      );
    if (inputs === null) throw undescribedInputs(server, model);
    return new SenderTemplates(
      (asked) => lengthFor(descriptions[i], asked),
      (sender, length) => {
        const tensors = maker.inputs(model, inputs, rows, length || 1);
        // Those of one length are shared by all models; others are rarely the same, and too many to be kept.
        return encode({ model, version, sender, tensors, shared: length === 0 ? tails : new Map() });
      },
      options.senders,
    );
  });
}

/** The error for a server that leaves open what a model takes. */
export function undescribedInputs(server: string, model: string): EscapementError {
  return new EscapementError(
    'E_SERVER',
    `${server} does not describe the inputs of model ${model}: give an infer request with them, --payload FILE.json`,
  );
}

/** The rows of a tensor several times. */
function repeated(tensor: InputTensor, times: number): InputTensor {
  if (times === 1) return tensor;
  const [rows = 1, ...row] = tensor.shape;
  const data = Buffer.concat(Array.from({ length: times }, () => tensor.data));
  return { ...tensor, shape: [rows * times, ...row], data };
}

/** Models that a line names. */
const MOST_NAMES = 3;

/**
 * What requests assume that the server does not say, for people: a line for all models of which the same is assumed. `further`: of
 * one model, in addition to what is assumed of any.
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
