import { status } from '@grpc/grpc-js';
import type { ConformCase, Level } from '../case.js';
import { absent, check, skip } from '../finding.js';
import { checkSame, outputsOfGrpc } from '../model/answers.js';
import { readModel } from '../model/metadata.js';
import { rawGrpcRequest, typedGrpcRequest } from '../model/requests.js';
import type { Tensor } from '../model/tensors.js';
import { shown } from '../plain.js';
import type { Trial } from '../trial.js';
import { HEALTH_CHECK } from '../wire/grpc-messages.js';
import { checkRefused } from './refused.js';

const MISSING = 'conform-no-such-model';
const REQUIRED = { level: 'required' } as const;

interface Ready {
  readonly ready: boolean;
}

interface GrpcTensor {
  readonly name: string;
  readonly datatype: string;
  readonly shape: readonly string[];
}

interface GrpcModel {
  readonly name: string;
  readonly versions: readonly string[];
  readonly platform: string;
  readonly inputs: readonly GrpcTensor[];
  readonly outputs: readonly GrpcTensor[];
}

/** Health and metadata over gRPC. */
export const GRPC_CORE: readonly ConformCase[] = [
  {
    ...REQUIRED,
    id: 'grpc.live',
    section: 'gRPC, Server Live',
    says: 'ServerLive answers live',
    run: async ({ grpc }) => check((await grpc.ask('ServerLive', {})).live === true, 'live is false'),
  },
  {
    ...REQUIRED,
    id: 'grpc.ready',
    section: 'gRPC, Server Ready',
    says: 'ServerReady answers ready',
    run: async ({ grpc }) => check((await grpc.ask<Ready>('ServerReady', {})).ready, 'ready is false'),
  },
  {
    ...REQUIRED,
    id: 'grpc.model-ready',
    section: 'gRPC, Model Ready',
    says: 'ModelReady answers ready, with and without a version',
    run: async ({ grpc, subject: { name, version } }) => {
      for (const asked of version === null ? [''] : ['', version])
        check(
          (await grpc.ask<Ready>('ModelReady', { name, version: asked })).ready,
          `version "${asked}" is not ready`,
        );
    },
  },
  {
    ...REQUIRED,
    id: 'grpc.unknown-model-ready',
    section: 'gRPC, Model Ready',
    says: 'an unknown model is not ready: ready is false, or the status is not OK',
    run: async ({ grpc }) => {
      const { message } = await grpc.call<Ready>('ModelReady', { name: MISSING });
      check(message?.ready !== true, 'ready is true');
    },
  },
  {
    ...REQUIRED,
    id: 'grpc.server-metadata',
    section: 'gRPC, Server Metadata',
    says: 'ServerMetadata answers as GET /v2',
    run: async ({ grpc, http }) => {
      const { name, version, extensions } = await grpc.ask('ServerMetadata', {});
      const rest = (await http.get('/v2')).object();
      const text = shown([name, version, [...(extensions as string[])].sort()]);
      const wanted = shown([rest.name, rest.version, [...(rest.extensions as string[])].sort()]);
      check(text === wanted, `gRPC says ${text}, HTTP ${wanted}`);
    },
  },
  {
    ...REQUIRED,
    id: 'grpc.model-metadata',
    section: 'gRPC, Model Metadata',
    says: 'ModelMetadata answers as GET /v2/models/NAME',
    run: async ({ grpc, http, path, subject }) => {
      const { name, platform, inputs, outputs } = await grpc.ask<GrpcModel>('ModelMetadata', {
        name: subject.name,
      });
      const tensors = (list: readonly GrpcTensor[]) =>
        list.map(({ name: tensor, datatype, shape }) => ({
          name: tensor,
          datatype,
          shape: shape.map(Number),
        }));
      const rest = readModel(await http.get(path));
      const text = shown([name, platform, tensors(inputs), tensors(outputs)]);
      const wanted = shown([rest.name, rest.platform, rest.inputs, rest.outputs]);
      check(text === wanted, `gRPC says ${text}, HTTP ${wanted}`);
    },
  },
  {
    id: 'grpc.unknown-model-metadata',
    level: 'required',
    section: 'gRPC, Model Metadata',
    says: 'the metadata of an unknown model is refused',
    run: async ({ grpc }) => checkRefused(await grpc.call('ModelMetadata', { name: MISSING })),
  },
  {
    id: 'grpc.health',
    level: 'optional',
    section: 'gRPC Health Checking Protocol (grpc.health.v1)',
    says: 'Health/Check answers SERVING',
    run: async ({ grpc }) => {
      const { code, message, text } = await grpc.callAs<{ status: number }>(HEALTH_CHECK, {});
      if (code === status.UNIMPLEMENTED) absent('the service is not there');
      check(message?.status === 1, `it ends with ${text}`);
    },
  },
];

/** Inference over gRPC. */
export const GRPC_INFERENCE: readonly ConformCase[] = [
  {
    ...REQUIRED,
    id: 'grpc.infer-raw',
    section: 'gRPC, Inference (raw_input_contents)',
    says: 'raw inputs are answered with the same bits as JSON over HTTP',
    run: async (trial) => {
      const outputs = await trial.grpcOutputs(rawGrpcRequest(trial.subject.name, trial.inputs()));
      checkSame(await trial.reference(), outputs, ['HTTP', 'gRPC']);
    },
  },
  {
    ...REQUIRED,
    id: 'grpc.infer-typed',
    section: 'gRPC, Inference (InferTensorContents)',
    says: 'inputs as lists of values are answered with the same bits as JSON over HTTP',
    run: async (trial) => {
      const request = typedGrpcRequest(trial.subject.name, trial.inputs());
      if (request === null) return skip('FP16 has no list of values');
      checkSame(await trial.reference(), await trial.grpcOutputs(request), ['HTTP', 'gRPC']);
    },
  },
  returned('infer-id', 'id, model name and version come back', '42'),
  returned('infer-id-text', 'an id comes back that is any text', 'grüße 42'),
  {
    ...REQUIRED,
    id: 'grpc.infer-outputs',
    section: 'gRPC, Inference (InferRequestedOutputTensor)',
    says: 'each output that is asked for comes alone, with the same bits',
    run: async (trial) => {
      for (const [name, tensor] of await trial.reference()) {
        const request = rawGrpcRequest(trial.subject.name, trial.inputs(), { outputs: [{ name }] });
        checkSame(new Map([[name, tensor]]), await trial.grpcOutputs(request), ['HTTP', 'gRPC']);
      }
    },
  },
  {
    id: 'grpc.infer-parameters',
    level: 'advice',
    section: 'gRPC, Parameters',
    says: 'parameters that a server does not know do no harm, or are refused with INVALID_ARGUMENT',
    run: async (trial) => {
      const parameters = { 'conform-note': { string_param: 'a text' }, 'conform-flag': { bool_param: true } };
      const request = rawGrpcRequest(trial.subject.name, trial.inputs(), { parameters });
      const { code, message, text } = await trial.inferGrpc(request);
      if (code === status.INVALID_ARGUMENT) return;
      check(message !== null, `ModelInfer ends with ${text}`);
      checkSame(await trial.reference(), outputsOfGrpc(message), ['HTTP', 'gRPC']);
    },
  },
  refused('unknown-model', 'an unknown model', (trial) => rawGrpcRequest(MISSING, trial.inputs())),
  refused('unknown-version', 'an unknown version', (trial) =>
    rawGrpcRequest(trial.subject.name, trial.inputs(), { model_version: '987654321' }),
  ),
  refused('missing-input', 'a request without inputs', ({ subject }) => ({ model_name: subject.name })),
  refused(
    'unknown-output',
    'an output that the model does not have',
    (trial) =>
      rawGrpcRequest(trial.subject.name, trial.inputs(), { outputs: [{ name: 'conform-no-such-output' }] }),
    'advice',
  ),
  refused('raw-size', 'raw contents that are shorter than the shape', (trial) => {
    const tensors = trial.inputs();
    const shorter = tensors.map(({ bytes }) => bytes.subarray(0, bytes.length - 1));
    return rawGrpcRequest(trial.subject.name, tensors, { raw_input_contents: shorter });
  }),
  refused('raw-count', 'more raw contents than inputs', (trial) => {
    const tensors = trial.inputs();
    const more = [...tensors, tensors[0]!].map(({ bytes }) => bytes);
    return rawGrpcRequest(trial.subject.name, tensors, { raw_input_contents: more });
  }),
  refused('both-contents', 'raw contents next to lists of values ("must not be specified")', (trial) => ({
    ...(typedGrpcRequest(trial.subject.name, trial.inputs()) ?? skip('FP16 has no list of values')),
    raw_input_contents: trial.inputs().map(({ bytes }) => bytes),
  })),
  refused('wrong-list', 'values in the list of another type', (trial) => {
    const inputs = trial.inputs().map(({ name, datatype, shape }) => ({
      ...{ name, datatype, shape },
      contents: datatype === 'BOOL' ? { fp64_contents: [1] } : { bool_contents: [true] },
    }));
    return { model_name: trial.subject.name, inputs };
  }),
  refused('huge-shape', 'sizes whose product passes 64 bits', (trial) => {
    return rawGrpcRequest(trial.subject.name, withSizes(trial, 2 ** 40));
  }),
  refused('negative-shape', 'a negative size', (trial) => {
    return rawGrpcRequest(trial.subject.name, withSizes(trial, -1));
  }),
];

/** The model's inputs, each dimension of this size. */
function withSizes(trial: Trial, size: number): Tensor[] {
  const tensors = trial.inputs();
  if (tensors.every(({ shape }) => shape.length === 0)) skip('no input of the model has dimensions');
  return tensors.map((tensor) => ({ ...tensor, shape: tensor.shape.map(() => size) }));
}

function returned(name: string, says: string, id: string): ConformCase {
  return {
    ...REQUIRED,
    id: `grpc.${name}`,
    section: 'gRPC, Inference ("will be returned in the response")',
    says,
    run: async (trial) => {
      const { name: model, version } = trial.subject;
      const request = rawGrpcRequest(model, trial.inputs(), { id, model_version: version ?? '' });
      const { message, text } = await trial.inferGrpc(request);
      check(message !== null, `ModelInfer ends with ${text}`);
      check(message.id === id, `the id is ${shown(message.id)}`);
      check(message.model_name === model, `the model name is ${shown(message.model_name)}`);
      const got = message.model_version;
      check(version === null || got === version, `the version is ${shown(got)}`);
    },
  };
}

function refused(
  name: string,
  what: string,
  make: (trial: Trial) => object,
  level: Level = 'required',
): ConformCase {
  return {
    id: `grpc.error-${name}`,
    level,
    section: 'gRPC, Inference ("other codes indicate failure")',
    says: `${what} is refused`,
    run: async (trial) => checkRefused(await trial.grpc.call('ModelInfer', make(trial))),
  };
}
