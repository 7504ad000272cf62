import { KIB } from '../../base/units.js';
import type { ServedModel } from '../model.js';
import { asApiError } from './api-error.js';
import { Call } from './call.js';
import { type Answer, answerJson, answerOf, boundOf, expectedBytes, jsonTensorBytes } from './http-answer.js';
import { type DecodeTask, decodeBody } from './http-body.js';
import type { HttpExchange } from './http-exchange.js';
import { acceptedEncoding, contentEncoding } from './http-headers.js';
import type { Inference } from './inference.js';
import { mostAnswerBytes } from './limits.js';

/** Larger JSON is parsed or written in a codec thread, and so is all that is compressed. */
const INLINE_BYTES = 64 * KIB;
/** Outputs of more than this are compressed as JSON, where the client accepts that. */
const COMPRESSED_BYTES = 4 * KIB;

/** POST …/infer: from the body to the service. Rejects with an `ApiError`. */
export async function infer(exchange: HttpExchange, name: string, version: string): Promise<void> {
  const { site, header } = exchange;
  const { catalog, settings, service } = site;
  exchange.label = catalog.find(name, version).label;
  const compression = contentEncoding(header);
  const body = await exchange.body(settings.maxBodyBytes);
  const model = catalog.ready(catalog.find(name, version));
  const jsonHeader = header['inference-header-content-length'] as string | undefined;
  const task = { body, compression, jsonHeader, model, limits: settings };
  const asked = isSmall(task) ? decodeBody(task) : await decodeApart(exchange, task);
  // The model may have changed meanwhile.
  const entry = catalog.find(name, version);
  const now = catalog.ready(entry);
  const answerBytes = expectedBytes(now.signature, asked, mostAnswerBytes(settings));
  exchange.hold(asked.inputs.reduce((sum, { length }) => sum + length, answerBytes));
  const sink = { answered: (call: Call) => answered(exchange, call, now, asked, answerBytes) };
  const { count, sloNs, requestClass, inputs, shapes, length } = asked;
  new Call(count, sink, exchange.connection.account).submit(service, {
    model: entry.index,
    sloNs,
    requestClass,
    inputs,
    shapes,
    length,
    arrivalNs: exchange.arrivalNs,
    tenant: site.tenants.of(header),
    trace: exchange.trace,
  });
  exchange.isAsked = true;
}

/** True if decoding holds up no other requests; JSON that is too large is not parsed. */
function isSmall({ body, compression, jsonHeader, limits }: DecodeTask): boolean {
  const jsonBytes = jsonHeader === undefined ? body.length : Number(jsonHeader);
  return compression === null && (jsonBytes <= INLINE_BYTES || jsonBytes > limits.maxJsonBytes);
}

/** Decodes in a codec thread, for which plain data alone is taken along. */
function decodeApart({ site }: HttpExchange, task: DecodeTask): Promise<Inference> {
  const { maxBatch, maxBodyBytes, maxJsonBytes, defaultSloNs, classes } = site.settings;
  const limits = { maxBatch, maxBodyBytes, maxJsonBytes, defaultSloNs, classes };
  // Labels may be many, and reading needs none.
  const model = { ...task.model, labels: null };
  return site.codec.run('decode', { ...task, model, limits }, [task.body]);
}

function answered(
  exchange: HttpExchange,
  call: Call,
  model: ServedModel,
  asked: Inference,
  answerBytes: number,
): void {
  if (exchange.isGone) return;
  const apiError = call.apiError();
  if (apiError !== null) exchange.refuse(apiError);
  else send(exchange, call, model, asked, answerBytes).catch((error) => exchange.refuse(asApiError(error)));
}

async function send(
  exchange: HttpExchange,
  call: Call,
  model: ServedModel,
  asked: Inference,
  answerBytes: number,
): Promise<void> {
  const { site, header } = exchange;
  const answer = answerOf(call, model, asked);
  const { tensors } = answer;
  // Sizes that the model chose.
  const bound = boundOf(answer, mostAnswerBytes(site.settings));
  if (bound > answerBytes) exchange.hold(bound);
  const jsonBytes = jsonTensorBytes(answer);
  const compression = jsonBytes > COMPRESSED_BYTES && tensors.length === 0 ? acceptedEncoding(header) : null;
  if (jsonBytes <= INLINE_BYTES && compression === null) {
    const json = answerJson(answer);
    if (tensors.length === 0) exchange.sendJson(200, json);
    else exchange.sendBinary(Buffer.from(json), tensors);
    return;
  }
  const own = withOwnData(answer);
  const moved = own.outputs.flatMap(({ data }) => data ?? []);
  const json = await site.codec.run('encode', { answer: own, compression }, moved);
  if (tensors.length > 0) exchange.sendBinary(json, tensors);
  else if (compression === null) exchange.sendJson(200, json);
  else exchange.sendJson(200, json, ['content-encoding', compression, 'vary', 'accept-encoding']);
}

/** Copies tensors that are part of a larger buffer, for another thread: others may be in it. */
function withOwnData({ outputs, ...answer }: Answer): Answer {
  const own = (tensor: Uint8Array) =>
    tensor.length === tensor.buffer.byteLength ? tensor : new Uint8Array(tensor);
  return {
    ...answer,
    tensors: [],
    outputs: outputs.map((output) => ({ ...output, data: output.data?.map(own) ?? null })),
  };
}
