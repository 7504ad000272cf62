import type { ServerDuplexStream } from '@grpc/grpc-js';
import type { ServedModel } from '../../model.js';
import type { InferenceService } from '../../service.js';
import { ApiError, asApiError } from '../api-error.js';
import type { ApiErrorCounts } from '../api-error-counts.js';
import { Call } from '../call.js';
import type { Catalog } from '../catalog.js';
import type { FrontendSettings } from '../frontend.js';
import { InputSet } from '../inputs.js';
import { checkRequestParameter } from '../parameters.js';
import { classOfPriority } from '../priority.js';
import { requestSloNs } from '../slo.js';
import { TenantNames } from '../tenant-names.js';
import { readInferMessage } from './infer-message.js';
import { type InferResponse, inferResponse, tensorBytes } from './infer-response.js';
import { readInputs, type WantedOutput, wantedOutputs } from './infer-tensors.js';
import { type Rpc, shuttingDown, statusOf } from './rpc.js';

/** Takes the response to the request of that id, or why there is none. */
type Respond = (id: string, response: InferResponse | ApiError) => void;

/** Requests of one stream that are under way at a time; the client's next ones wait. */
const MOST_UNDER_WAY = 16;

/** ModelInfer and ModelStreamInfer: from their messages to the service and back. */
export class GrpcInfer {
  private readonly tenants: TenantNames;

  constructor(
    private readonly service: InferenceService,
    private readonly catalog: Catalog,
    private readonly settings: FrontendSettings,
    private readonly apiErrors: ApiErrorCounts,
  ) {
    this.tenants = new TenantNames(settings.tenants);
  }

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
      this.ask(bytes, rpc, this.service.nowNs(), (id, response) => {
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
    const { service, settings, catalog } = this;
    let [id, label] = ['', 0];
    try {
      const message = readInferMessage(bytes);
      id = message.id;
      const entry = catalog.find(message.modelName, message.modelVersion);
      label = entry.label ?? 0;
      const model = catalog.ready(entry);
      const { parameters } = message;
      for (const [name, value] of parameters) checkRequestParameter(name, value, settings.classes);
      const [sloMs, timeoutUs] = [parameters.get('slo_ms'), parameters.get('timeout')];
      const sloNs = requestSloNs(sloMs, timeoutUs, model, settings.defaultSloNs);
      const requestClass = classOfPriority(parameters.get('priority'), settings.classes);
      const set = new InputSet(model, settings);
      readInputs(message, set, settings.maxJsonBytes);
      const outputs = wantedOutputs(message, model.signature);
      const inputs = set.complete();
      const answered = (call: Call) => respond(id, responseOf(call, model, id, outputs));
      new Call(set.count, { answered }, rpc).submit(service, {
        model: entry.index,
        arrivalNs,
        sloNs: Math.max(1, Math.min(sloNs, rpc.untilNs - arrivalNs)),
        requestClass,
        tenant: this.tenantOf(rpc),
        inputs,
        shapes: set.shapes,
        length: set.length,
        trace: rpc.trace,
      });
    } catch (error) {
      const apiError = asApiError(error);
      if (!rpc.isOver) this.apiErrors.add(apiError.kind, label);
      respond(id, apiError);
    }
  }

  private tenantOf(rpc: Rpc): number {
    const { header } = this.settings.tenants;
    return header === '' ? 0 : this.tenants.of({ [header]: rpc.header(header) });
  }
}

function responseOf(
  call: Call,
  model: ServedModel,
  id: string,
  outputs: readonly WantedOutput[],
): InferResponse | ApiError {
  try {
    return call.apiError() ?? inferResponse(call, model, id, outputs);
  } catch (error) {
    return asApiError(error);
  }
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
