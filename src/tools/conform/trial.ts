import { status } from '@grpc/grpc-js';
import { check } from './finding.js';
import { type GrpcInferResponse, type Outputs, outputsOfGrpc, outputsOfHttp } from './model/answers.js';
import { makeInputs } from './model/make-inputs.js';
import { jsonInputs } from './model/requests.js';
import { modelPath, type Subject } from './model/subject.js';
import type { Tensor } from './model/tensors.js';
import { PATIENT_TIMEOUT_US, patiently, postPatiently } from './patience.js';
import type { Endpoint } from './wire/endpoint.js';
import { type GrpcAnswer, GrpcClient } from './wire/grpc-client.js';
import type { HttpAnswer } from './wire/http-answer.js';
import { type Headers, HttpClient } from './wire/http-client.js';
import { Transcript } from './wire/transcript.js';

const BUSY_GRPC: readonly number[] = [
  status.RESOURCE_EXHAUSTED,
  status.UNAVAILABLE,
  status.DEADLINE_EXCEEDED,
];

/** What the server's configuration knows of who sends requests. */
export interface KnownSenders {
  /** Values of the parameter `priority` that it has. */
  readonly priorities: readonly number[];
  /** The header that names a tenant. */
  readonly tenantHeader: string;
  /** A tenant with a limit of its rate; undefined: none is known. */
  readonly limitedTenant: string | undefined;
}

/** What a case works with: clients, and a model to ask. */
export class Trial {
  readonly transcript = new Transcript();
  readonly http: HttpClient;
  readonly grpc: GrpcClient;

  constructor(
    readonly endpoint: Endpoint,
    readonly subject: Subject,
    /** Whether cases may take the model out of service for a moment. */
    readonly mayUnload: boolean,
    readonly senders: KnownSenders,
  ) {
    this.http = new HttpClient(endpoint, this.transcript);
    this.grpc = new GrpcClient(endpoint, this.transcript);
  }

  /** `/v2/models/NAME` of the model. */
  get path(): string {
    return modelPath(this.subject.name);
  }

  /** Inputs that the model takes; another seed, other values. */
  inputs(seed = 0, rows = 1): Tensor[] {
    const { inputs, integers, length } = this.subject;
    return makeInputs(inputs, { seed, rows, integers, length });
  }

  /** An inference over HTTP with inputs as JSON. */
  async infer(
    more: object = {},
    { path = this.path, inputs = jsonInputs(this.inputs()) as unknown } = {},
  ): Promise<HttpAnswer> {
    return this.postInfer({ ...more, inputs }, {}, path);
  }

  /** Any body to the model's `infer`, again if the server was busy. */
  async postInfer(body: unknown, headers: Headers = {}, path = this.path): Promise<HttpAnswer> {
    return postPatiently(this.http, path, body, headers);
  }

  /** The outputs that any other way to ask must lead to as well. */
  async reference(seed = 0): Promise<Outputs> {
    return outputsOfHttp(await this.infer({}, { inputs: jsonInputs(this.inputs(seed)) }));
  }

  /** A ModelInfer, again if the server was busy. */
  inferGrpc(request: object, client = this.grpc): Promise<GrpcAnswer<GrpcInferResponse>> {
    return patiently(
      (isAgain) => client.call<GrpcInferResponse>('ModelInfer', isAgain ? patientRequest(request) : request),
      ({ code }) => BUSY_GRPC.includes(code),
      ({ code }) => code === status.INVALID_ARGUMENT,
    );
  }

  async grpcOutputs(request: object): Promise<Outputs> {
    const { message, text } = await this.inferGrpc(request);
    check(message !== null, `ModelInfer ends with ${text}`);
    return outputsOfGrpc(message);
  }

  close(): void {
    this.grpc.close();
  }
}

function patientRequest(request: object): object {
  const { parameters = {} } = request as { readonly parameters?: object };
  return { ...request, parameters: { timeout: { int64_param: PATIENT_TIMEOUT_US }, ...parameters } };
}
