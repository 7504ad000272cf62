import { status } from '@grpc/grpc-js';
import type { ConformCase } from '../case.js';
import { absent, check } from '../finding.js';
import { checkSame, outputsOfGrpc } from '../model/answers.js';
import { rawGrpcRequest } from '../model/requests.js';
import { GrpcClient } from '../wire/grpc-client.js';
import { GRPC_METHODS } from '../wire/grpc-messages.js';
import { checkRefused } from './refused.js';

const MISSING = 'conform-no-such-model';

/** What gRPC itself asks of a service. */
export const GRPC_WIRE: readonly ConformCase[] = [
  {
    id: 'grpc.unknown-field',
    level: 'advice',
    section: 'Protocol Buffers, Unknown Fields',
    says: 'a field that a server does not know does no harm',
    run: async (trial) => {
      const { path, requestSerialize, responseDeserialize } = GRPC_METHODS.ModelInfer;
      const known = requestSerialize(rawGrpcRequest(trial.subject.name, trial.inputs()));
      // Field 1000, one byte long.
      const bytes = Buffer.concat([known, Buffer.from([0xc2, 0x3e, 0x01, 0x00])]);
      const { message, text } = await trial.grpc.callRaw<Parameters<typeof outputsOfGrpc>[0]>(path, bytes, {
        responseDeserialize,
      });
      check(message !== null, `ModelInfer ends with ${text}`);
      checkSame(await trial.reference(), outputsOfGrpc(message), ['HTTP', 'gRPC']);
    },
  },
  {
    id: 'grpc.malformed',
    level: 'required',
    section: 'gRPC, Inference ("other codes indicate failure")',
    says: 'bytes that are no message are refused, and the server goes on',
    run: async (trial) => {
      const { path, responseDeserialize } = GRPC_METHODS.ModelInfer;
      for (const bytes of [Buffer.alloc(64, 0xff), Buffer.from([0x2a, 0xff, 0xff, 0xff, 0xff, 0x0f])])
        checkRefused(await trial.grpc.callRaw(path, bytes, { responseDeserialize }));
      check((await trial.grpc.ask('ServerLive', {})).live === true, 'live is false');
    },
  },
  {
    id: 'grpc.unknown-method',
    level: 'advice',
    section: 'gRPC, Status Codes',
    says: 'a method that does not exist ends with UNIMPLEMENTED',
    run: async ({ grpc }) => {
      const { responseDeserialize } = GRPC_METHODS.ServerLive;
      const path = '/inference.GRPCInferenceService/ConformNoSuchMethod';
      const { code, text } = await grpc.callRaw(path, Buffer.alloc(0), { responseDeserialize });
      check(code === status.UNIMPLEMENTED, `it ends with ${text}`);
    },
  },
  {
    id: 'grpc.codes',
    level: 'advice',
    section: 'gRPC, Status Codes',
    says: "an unknown model is NOT_FOUND or INVALID_ARGUMENT, a client's mistake INVALID_ARGUMENT",
    run: async (trial) => {
      const unknown = await trial.grpc.call('ModelInfer', { model_name: MISSING });
      check(
        [status.NOT_FOUND, status.INVALID_ARGUMENT].includes(unknown.code),
        `unknown model: ${unknown.text}`,
      );
      const mistake = await trial.grpc.call('ModelInfer', { model_name: trial.subject.name });
      check(mistake.code === status.INVALID_ARGUMENT, `no inputs: ${mistake.text}`);
    },
  },
  {
    id: 'grpc.gzip',
    level: 'optional',
    section: 'gRPC, Compression',
    says: 'a request compressed with gzip is answered with the same bits',
    run: async (trial) => {
      const client = new GrpcClient(trial.endpoint, trial.transcript, {
        'grpc.default_compression_algorithm': 2,
      });
      try {
        const request = rawGrpcRequest(trial.subject.name, trial.inputs());
        const { code, message, text } = await trial.inferGrpc(request, client);
        if (code === status.UNIMPLEMENTED) absent('gzip is not supported');
        check(message !== null, `ModelInfer ends with ${text}`);
        checkSame(await trial.reference(), outputsOfGrpc(message), ['HTTP', 'gRPC']);
      } finally {
        client.close();
      }
    },
  },
];
