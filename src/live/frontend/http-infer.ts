import { KIB } from '../../base/units.js';
import type { ServedModel } from '../model.js';
import { type Answer, answerOf, expectedBytes, mostBytes } from './answer.js';
import { asApiError } from './api-error.js';
import { Call } from './call.js';
import { acceptedEncoding, type Compression, contentEncoding } from './headers.js';
import type { HttpExchange } from './http-exchange.js';
import { answerJson, type DecodeTask, decodeBody } from './infer-body.js';
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
  const answered = (call: Call) => {
    if (!exchange.isGone)
      send(exchange, call, now, answerBytes).catch((error) => exchange.refuse(asApiError(error)));
  };
  if (exchange.isGone) return;
  const call = new Call(asked, exchange.connection.account, answered);
  call.submit(service, {
    model: entry.index,
    arrivalNs: exchange.arrivalNs,
    tenant: site.tenantOf((name) => header[name]),
    trace: exchange.trace,
  });
  exchange.call = call;
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

async function send(
  exchange: HttpExchange,
  call: Call,
  model: ServedModel,
  heldBytes: number,
): Promise<void> {
  const { site, header } = exchange;
  const answer = answerOf(call, model);
  // Sizes that the model chose.
  const bound = mostBytes(answer.outputs, mostAnswerBytes(site.settings));
  if (bound > heldBytes) exchange.hold(bound);
  const [binary, inJson] = [true, false].map((is) => answer.outputs.filter((output) => output.binary === is));
  const tensors = binary.flatMap(({ parts }) => parts);
  const jsonBytes = inJson.reduce((sum, { bytes }) => sum + bytes, 0);
  const compression = jsonBytes > COMPRESSED_BYTES && tensors.length === 0 ? acceptedEncoding(header) : null;
  if (jsonBytes <= INLINE_BYTES && compression === null) {
    const json = answerJson(answer);
    if (tensors.length === 0) exchange.sendJson(200, json);
    else exchange.sendBinary(Buffer.from(json), tensors);
    return;
  }
  const json = await encodeApart(exchange, answer, compression);
  if (tensors.length > 0) exchange.sendBinary(json, tensors);
  else if (compression === null) exchange.sendJson(200, json);
  else exchange.sendJson(200, json, ['content-encoding', compression, 'vary', 'accept-encoding']);
}

/** Encodes in a codec thread. Tensors that are part of a larger buffer are copied: others may be in it. */
function encodeApart({ site }: HttpExchange, answer: Answer, compression: Compression | null) {
  const own = (tensor: Uint8Array) =>
    tensor.length === tensor.buffer.byteLength ? tensor : new Uint8Array(tensor);
  const outputs = answer.outputs.map((output) => ({
    ...output,
    parts: output.binary ? [] : output.parts.map(own),
  }));
  const moved = outputs.flatMap(({ parts }) => parts);
  return site.codec.run('encode', { answer: { ...answer, outputs }, compression }, moved);
}
