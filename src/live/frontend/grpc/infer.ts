import type { ServerDuplexStream } from '@grpc/grpc-js';
import type { ServedModel } from '../../model.js';
import { answerOf } from '../answer.js';
import { ApiError, asApiError, cancelled } from '../api-error.js';
import { Call } from '../call.js';
import { readInference } from '../inference.js';
import type { Site } from '../site.js';
import { contentsReader, readInferMessage } from './infer-message.js';
import { type Rpc, shuttingDown, statusOf } from './rpc.js';

/** Takes the response to the request of that id, or why there is none. */
type Respond = (id: string, response: InferResponse | ApiError) => void;

/** Requests of one stream that are under way at a time; the client's next ones wait. */
const MOST_UNDER_WAY = 16;

/** ModelInfer and ModelStreamInfer: from their messages to the service and back. */
export class GrpcInfer {
  constructor(private readonly site: Site) {}

  unary(bytes: Uint8Array, rpc: Rpc, respond: (response: InferResponse) => void): void {
    this.ask(bytes, rpc, rpc.arrivalNs, (_, response) => {
      if (rpc.isOver) return;
      if (response instanceof ApiError) {
        rpc.refuse(response);
        return;
      }
      try {
        rpc.responds(tensorBytes(response));
        respond(response);
      } catch (error) {
        rpc.refuse(asApiError(error));
      }
    });
  }

  /** One response for each request, in their order. A request that fails is answered too, and the stream goes on. */
  stream(call: ServerDuplexStream<Uint8Array, object>, rpc: Rpc): void {
    const waiting: { requestBytes: number; id: string; response: InferResponse | ApiError | null }[] = [];
    let hasEnded = false;
    let isUnread = false;
    const flow = () => {
      if (isUnread || waiting.length >= MOST_UNDER_WAY) call.pause();
      else call.resume();
    };
    const flush = () => {
      while (waiting.length > 0 && waiting[0].response !== null) {
        const { requestBytes, id, response } = waiting[0];
        waiting.shift();
        rpc.release(requestBytes);
        if (!send(call, rpc, id, response)) isUnread = true;
      }
      flow();
      if (hasEnded && waiting.length === 0) call.end();
      else if (rpc.isDraining && waiting.length === 0) call.emit('error', statusOf(shuttingDown()));
    };
    call.on('drain', () => {
      isUnread = false;
      flow();
    });
    call.on('data', (bytes: Uint8Array) => {
      const request = {
        requestBytes: bytes.length,
        id: '',
        response: null as InferResponse | ApiError | null,
      };
      waiting.push(request);
      flow();
      this.ask(bytes, rpc, this.site.service.nowNs(), (id, response) => {
        Object.assign(request, { id, response });
        if (!rpc.isOver) flush();
      });
    });
    call.on('end', () => {
      hasEnded = true;
      flush();
    });
  }

  /** Calls `respond` once. */
  private ask(bytes: Uint8Array, rpc: Rpc, arrivalNs: number, respond: Respond): void {
    const { service, settings, catalog, tenants, apiErrors } = this.site;
    let [id, label] = ['', 0];
    try {
      const message = readInferMessage(bytes);
      id = message.id;
      const entry = catalog.find(message.modelName, message.modelVersion);
      label = entry.label ?? 0;
      const model = catalog.ready(entry);
      const { parameters, inputs, outputs } = message;
      const asked = readInference(
        { id, parameters, inputs, outputs: outputs.length === 0 ? null : outputs },
        model,
        settings,
        contentsReader(message, settings.maxJsonBytes),
      );
      if (rpc.isOver) throw cancelled();
      const call = new Call(asked, rpc.connection.account, () => {
        rpc.calls.delete(call);
        respond(id, responseTo(call, model));
      });
      call.submit(service, {
        model: entry.index,
        arrivalNs,
        untilNs: rpc.untilNs,
        tenant: tenants.of((header) => rpc.header(header)),
        trace: rpc.trace,
      });
      rpc.calls.add(call);
    } catch (error) {
      const apiError = asApiError(error);
      if (!rpc.isOver) apiErrors.add(apiError.kind, label);
      respond(id, apiError);
    }
  }
}

/** A ModelInferResponse, in the names of the protocol. */
interface InferResponse {
  readonly model_name: string;
  readonly model_version: string;
  readonly id: string | null;
  readonly parameters: object;
  readonly outputs: readonly object[];
  readonly raw_output_contents: readonly Uint8Array[];
}

function responseTo(call: Call, model: ServedModel): InferResponse | ApiError {
  try {
    const { id, name, version, batchSize, sloMet, outputs } = answerOf(call, model);
    return {
      model_name: name,
      model_version: version,
      id,
      parameters: { batch_size: { int64_param: batchSize }, slo_met: { bool_param: sloMet } },
      outputs: outputs.map((output) => ({
        name: output.name,
        datatype: output.datatype,
        shape: output.shape,
      })),
      raw_output_contents: outputs.map(({ parts }) => (parts.length === 1 ? parts[0] : Buffer.concat(parts))),
    };
  } catch (error) {
    return asApiError(error);
  }
}

/** Bytes of its tensors. */
function tensorBytes({ raw_output_contents: contents }: InferResponse): number {
  return contents.reduce((sum, { length }) => sum + length, 0);
}

/** Returns false if the client has not read what came before. */
function send(
  call: ServerDuplexStream<Uint8Array, object>,
  rpc: Rpc,
  id: string,
  response: InferResponse | ApiError | null,
): boolean {
  if (response === null || response instanceof ApiError)
    return call.write({ error_message: response?.message, infer_response: { id } });
  const bytes = tensorBytes(response);
  try {
    rpc.responds(bytes);
  } catch (error) {
    return call.write({ error_message: asApiError(error).message, infer_response: { id } });
  }
  return call.write({ infer_response: response }, () => rpc.sent(bytes));
}
