import type { ServerDuplexStream } from '@grpc/grpc-js';
import type { ServedModel } from '../../model.js';
import { ApiError, asApiError, cancelled } from '../api-error.js';
import { answerOf, Call } from '../call.js';
import { readInference } from '../inference.js';
import type { Site } from '../site.js';
import { contentsReader, readInferMessage } from './infer-message.js';
import type { Rpc } from './rpc.js';

/** Requests of one stream that are under way at a time; the client's next ones wait. */
const MOST_UNDER_WAY = 16;

/** Outcome of a request. */
interface Answered {
  readonly id: string;
  readonly response: InferResponse | ApiError;
  /** Those of its tensors, for which there is memory. */
  readonly bytes: number;
}

/** ModelInfer and ModelStreamInfer: from their messages to the service and back. */
export class GrpcInfer {
  constructor(private readonly site: Site) {}

  /** Rejects with an `ApiError`. */
  async unary(bytes: Uint8Array, rpc: Rpc): Promise<object> {
    const answered = await this.ask(bytes, rpc, rpc.arrivalNs);
    if (answered.response instanceof ApiError) throw answered.response;
    rpc.responds(answered.bytes);
    return answered.response;
  }

  /** One response for each request, in their order. A request that fails is answered too, and the stream goes on. */
  stream(call: ServerDuplexStream<Uint8Array, object>, rpc: Rpc): void {
    let last = Promise.resolve();
    const answer = async (bytes: Uint8Array, before: Promise<void>) => {
      const answered = await this.ask(bytes, rpc, this.site.service.nowNs());
      await before;
      await send(call, rpc, answered);
      rpc.hold(-bytes.length);
      rpc.finish();
      call.resume();
    };
    call.on('data', (bytes: Uint8Array) => {
      rpc.underWay++;
      if (rpc.underWay === MOST_UNDER_WAY) call.pause();
      last = answer(bytes, last);
    });
    call.on('end', () => {
      // A server that closes leaves it to this to end the call.
      rpc.underWay++;
      void last.then(() => call.end());
    });
  }

  private async ask(bytes: Uint8Array, rpc: Rpc, arrivalNs: number): Promise<Answered> {
    const { service, settings, catalog, tenantOf, apiErrors } = this.site;
    let [id, label] = ['', 0];
    let model: ServedModel;
    let call: Call;
    try {
      const message = readInferMessage(bytes);
      id = message.id;
      const entry = catalog.find(message.model_name, message.model_version);
      label = entry.label ?? 0;
      model = catalog.ready(entry);
      const { parameters, inputs, outputs } = message;
      const asked = readInference(
        { id, parameters, inputs, outputs: outputs.length === 0 ? null : outputs },
        model,
        settings,
        contentsReader(message, settings.maxJsonBytes),
      );
      if (rpc.isOver) throw cancelled();
      call = await new Promise<Call>((answered) => {
        const submitted = new Call(asked, rpc.connection.account, answered);
        submitted.submit(service, {
          model: entry.index,
          arrivalNs,
          untilNs: rpc.untilNs,
          tenant: tenantOf((header) => rpc.header(header)),
          trace: rpc.trace,
        });
        rpc.calls.add(submitted);
      });
    } catch (error) {
      const apiError = asApiError(error);
      if (!rpc.isOver) apiErrors.add(apiError.kind, label);
      return { id, response: apiError, bytes: 0 };
    }
    rpc.calls.delete(call);
    try {
      const response = responseTo(call, model);
      const size = tensorBytes(response);
      rpc.hold(size);
      return { id, response, bytes: size };
    } catch (error) {
      return { id, response: asApiError(error), bytes: 0 };
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

/** Throws the `ApiError` that became of a call. */
function responseTo(call: Call, model: ServedModel): InferResponse {
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
}

/** Bytes of its tensors. */
function tensorBytes({ raw_output_contents: contents }: InferResponse): number {
  return contents.reduce((sum, { length }) => sum + length, 0);
}

/** Resolves when the response has left. */
function send(
  call: ServerDuplexStream<Uint8Array, object>,
  rpc: Rpc,
  { id, response, bytes }: Answered,
): Promise<void> {
  const isError = response instanceof ApiError;
  rpc.responds(bytes);
  return new Promise((resolve) => {
    call.write(
      isError ? { error_message: response.message, infer_response: { id } } : { infer_response: response },
      () => {
        rpc.sent(bytes);
        resolve();
      },
    );
  });
}
