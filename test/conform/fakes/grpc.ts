import { Server, ServerCredentials, type ServiceDefinition, status } from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';
import { onTestFinished } from 'vitest';
import { PROTOCOL_FILE } from '../../../src/live/frontend/grpc/protocol.js';
import { type Defect, INPUTS, Mistake, NAME, OUTPUTS, twice } from './model.js';

// biome-ignore lint/suspicious/noExplicitAny: whatever clients send
type Loose = any;

/** The gRPC side of the small server, right but for its `defect`. Resolves with its port. */
export async function openSmallGrpcServer(defect: Defect = ''): Promise<number> {
  const server = new Server();
  const service = loadSync(PROTOCOL_FILE, { keepCase: true, longs: Number, defaults: true })[
    'inference.GRPCInferenceService'
  ] as ServiceDefinition;
  const unary = (answer: (request: Loose) => object) => (call: Loose, done: Loose) => {
    try {
      done(null, answer(call.request));
    } catch (error) {
      done({ code: status.INVALID_ARGUMENT, details: (error as Error).message });
    }
  };
  server.addService(service, {
    ServerLive: unary(() => ({ live: true })),
    ServerReady: unary(() => ({ ready: true })),
    ModelReady: unary(({ name }) => ({ ready: name === NAME || defect === 'ready' })),
    ServerMetadata: unary(() => ({ name: 'small', version: '1', extensions: ALL })),
    ModelMetadata: unary(({ name }) => {
      if (name !== NAME) throw new Mistake(`no model ${name}`);
      const inputs = defect === 'metadata' ? INPUTS.slice(1) : INPUTS;
      return { name: NAME, versions: ['1'], platform: 'small_test', inputs, outputs: OUTPUTS };
    }),
    ModelInfer: unary((request) => infer(request, defect)),
    ModelStreamInfer: (call: Loose) => {
      const answers: object[] = [];
      let before: Loose = null;
      call.on('data', (request: Loose) => {
        const inputs = defect === 'inputs-of-another' ? { ...(before ?? request), id: request.id } : request;
        answers.push(streamed(inputs, defect));
        before = request;
      });
      call.on('end', () => {
        for (const answer of defect === 'order' ? answers.reverse() : answers) call.write(answer);
        call.end();
      });
    },
  });
  const port = await new Promise<number>((resolve, reject) =>
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, bound) =>
      error === null ? resolve(bound) : reject(error),
    ),
  );
  onTestFinished(() => server.forceShutdown());
  return port;
}

const ALL = ['binary_tensor_data', 'statistics', 'model_configuration', 'model_repository', 'classification'];

function streamed(request: Loose, defect: Defect): object {
  try {
    const [what, part] = defect.split(' ');
    return { infer_response: infer(what === 'off-by' ? offBy(Number(part), request) : request, defect) };
  } catch (error) {
    return { error_message: (error as Error).message };
  }
}

/** A request whose numbers are off by a part: so are its answer's. */
function offBy(part: number, request: Loose): Loose {
  const [first, ...others] = request.raw_input_contents;
  const raw = Buffer.from(first);
  for (let at = 0; at < raw.length; at += 4) raw.writeFloatLE(raw.readFloatLE(at) * (1 + part), at);
  return { ...request, raw_input_contents: [raw, ...others] };
}

function infer(request: Loose, defect: Defect): object {
  const { model_name: name, model_version: version, id, inputs, outputs, raw_input_contents: raw } = request;
  if (name !== NAME || !['', '1'].includes(version))
    throw new Mistake(`no model ${name}, version ${version}`);
  const priority = request.parameters?.priority?.int64_param ?? 0;
  if (priority > 2 && defect !== 'priority') throw new Mistake(`priority ${priority} is unknown`);
  if (raw.length > 0 && raw.length !== inputs.length && defect !== 'raw-count')
    throw new Mistake('raw contents');
  const values = inputs.map((input: Loose, i: number) => {
    const {
      fp32_contents: floats = [],
      int64_contents: longs = [],
      bool_contents: flags = [],
    } = input.contents ?? {};
    const typed = input.datatype === 'FP32' ? floats : longs;
    if (flags.length > 0) throw new Mistake('the wrong list');
    if (raw.length > 0 && typed.length > 0 && defect !== 'both') throw new Mistake('contents of both kinds');
    const data = raw.length > 0 ? decode(raw[i], input.datatype, defect) : typed;
    return { name: input.name, datatype: input.datatype, shape: input.shape, data };
  });
  const made = twice(values, defect);
  const wanted: string[] =
    outputs.length > 0 ? outputs.map((each: Loose) => each.name) : made.map((one) => one.name);
  const chosen = wanted.map((each) => made.find((one) => one.name === each));
  if (chosen.includes(undefined)) throw new Mistake('no such output');
  return {
    ...{ model_name: NAME, model_version: '1', id: defect === 'id' ? 'x' : id },
    outputs: chosen.map((one) => ({
      ...{ name: one?.name, datatype: one?.datatype, shape: one?.shape },
      contents: { [one?.datatype === 'FP32' ? 'fp32_contents' : 'int64_contents']: one?.data },
    })),
  };
}

function decode(bytes: Buffer, datatype: string, defect: Defect): number[] {
  const size = datatype === 'FP32' ? 4 : 8;
  if (bytes.length % size !== 0 && defect !== 'raw-size') throw new Mistake('raw contents of another size');
  const count = Math.ceil(bytes.length / size);
  const whole = Buffer.concat([bytes, Buffer.alloc(size)]);
  return Array.from({ length: count }, (_, i) =>
    size === 4 ? whole.readFloatLE(4 * i) : Number(whole.readBigInt64LE(8 * i)),
  );
}
