import { status } from '@grpc/grpc-js';
import type { ConformCase } from '../case.js';
import { absent, check, skip } from '../finding.js';
import {
  areNear,
  BATCHED_TOLERANCE,
  checkSame,
  type GrpcInferResponse,
  type Outputs,
  outputsOfGrpc,
} from '../model/answers.js';
import { rawGrpcRequest } from '../model/requests.js';
import { shown } from '../plain.js';
import type { Trial } from '../trial.js';

const COMMON = { level: 'optional', section: 'ModelStreamInfer (Triton)' } as const;
const REQUESTS = 6;

interface StreamAnswer {
  readonly error_message: string;
  readonly infer_response: GrpcInferResponse | null;
}

/** Many inferences on one stream. */
export const GRPC_STREAM: readonly ConformCase[] = [
  {
    ...COMMON,
    id: 'grpc.stream',
    says: 'each request on a stream has one answer, of its own inputs',
    run: async (trial) => {
      const messages = await stream(trial, ids());
      check(messages.length === REQUESTS, `${messages.length} answers to ${REQUESTS} requests`);
      const references: Outputs[] = [];
      for (const [i, { infer_response: response, error_message: error }] of messages.entries()) {
        check(response !== null && error === '', `answer ${i} is the error ${shown(error)}`);
        const names = ['HTTP', `answer ${i}, id ${shown(response.id)}`] as const;
        const reference = await trial.reference(Number(response.id));
        // The server may batch them.
        checkSame(reference, outputsOfGrpc(response), names, BATCHED_TOLERANCE);
        references.push(reference);
      }
      if (references.every((one) => areNear(one, references[0]!, BATCHED_TOLERANCE)))
        skip(
          'the model answers all inputs alike, within what batches may change: whose an answer is cannot be seen',
        );
    },
  },
  {
    ...COMMON,
    id: 'grpc.stream-order',
    says: 'answers on a stream come in the order of their requests',
    run: async (trial) => {
      const got = (await stream(trial, ids())).map(({ infer_response: response }) => response?.id);
      check(shown(got) === shown(ids()), `the answers are ${shown(got)}`);
    },
  },
  {
    ...COMMON,
    id: 'grpc.stream-error',
    says: 'a mistake on a stream is answered with error_message, and the requests after it as usual',
    run: async (trial) => {
      const messages = await stream(trial, ids(), { model_name: 'conform-no-such-model', id: 'wrong' });
      const errors = messages.filter(({ error_message: error }) => error !== '').length;
      check(errors === 1, `${errors} answers are errors, not 1`);
      check(messages.length === REQUESTS + 1, `${messages.length} answers to ${REQUESTS + 1} requests`);
    },
  },
];

function ids(): string[] {
  return Array.from({ length: REQUESTS }, (_, i) => String(i));
}

/** Sends a request for each id, with inputs of its own. `wrong` goes in their midst. */
async function stream(trial: Trial, all: readonly string[], wrong?: object): Promise<StreamAnswer[]> {
  const requests = all.map((id) => rawGrpcRequest(trial.subject.name, trial.inputs(Number(id)), { id }));
  if (wrong !== undefined) requests.splice(REQUESTS / 2, 0, wrong);
  const { code, text, messages } = await trial.grpc.stream('ModelStreamInfer', requests);
  if (code === status.UNIMPLEMENTED) absent('the method is not there');
  if (text.includes('Response message parsing error'))
    absent('its answers are of another type than those of Triton');
  check(code === status.OK, `the stream ends with ${text}`);
  return messages as StreamAnswer[];
}
