import type { ConformCase } from '../case.js';
import { check, skip } from '../finding.js';
import { checkSame, outputsOfHttp } from '../model/answers.js';
import { type BinaryRequest, binaryBody, binaryRequest, jsonInputs } from '../model/requests.js';
import { shown } from '../plain.js';
import type { Trial } from '../trial.js';
import type { HttpAnswer } from '../wire/http-answer.js';
import { checkError } from './errors.js';

const COMMON = {
  level: 'extension',
  extension: 'binary_tensor_data',
  section: 'Binary tensor data extension',
} as const;

/** Tensors as bytes behind the JSON. */
export const BINARY: readonly ConformCase[] = [
  {
    ...COMMON,
    id: 'binary.input',
    says: 'inputs as binary data are answered with the same bits as inputs as JSON',
    run: async (trial) => {
      const answer = await send(trial, binaryRequest(trial.inputs()));
      checkSame(await trial.reference(), outputsOfHttp(answer), ['JSON inputs', 'binary inputs']);
    },
  },
  {
    ...COMMON,
    id: 'binary.json-output',
    says: 'outputs stay JSON unless binary data is asked for',
    run: async (trial) => {
      const answer = await send(trial, binaryRequest(trial.inputs()));
      check(answer.binary() === null, 'the answer has Inference-Header-Content-Length');
    },
  },
  {
    ...COMMON,
    id: 'binary.mixed-input',
    says: 'one input may be binary and the others JSON',
    run: async (trial) => {
      if (trial.subject.inputs.length < 2) skip('the model has one input only');
      const answer = await send(trial, binaryRequest(trial.inputs(), {}, 1));
      checkSame(await trial.reference(), outputsOfHttp(answer), ['JSON inputs', 'mixed inputs']);
    },
  },
  {
    ...COMMON,
    id: 'binary.output',
    says: 'binary_data makes an output binary, with the same bits as in JSON',
    run: async (trial) => {
      const outputs = trial.subject.outputs.map(({ name }) => ({ name, parameters: { binary_data: true } }));
      await checkBinary(trial, await trial.infer({ outputs }));
    },
  },
  {
    ...COMMON,
    id: 'binary.all-outputs',
    says: 'binary_data_output makes all outputs binary',
    run: async (trial) => checkBinary(trial, await trial.infer({ parameters: { binary_data_output: true } })),
  },
  {
    ...COMMON,
    id: 'binary.override',
    says: 'binary_data false on an output overrides binary_data_output',
    run: async (trial) => {
      const outputs = trial.subject.outputs.map(({ name }) => ({ name, parameters: { binary_data: false } }));
      const answer = await trial.infer({ outputs, parameters: { binary_data_output: true } });
      check(answer.binary() === null, 'the answer has binary data');
      checkSame(await trial.reference(), outputsOfHttp(answer), ['JSON', 'the override']);
    },
  },
  {
    ...COMMON,
    id: 'binary.both-ways',
    says: 'inputs and outputs may be binary in one exchange',
    run: async (trial) => {
      const more = { parameters: { binary_data_output: true } };
      await checkBinary(trial, await send(trial, binaryRequest(trial.inputs(), more)));
    },
  },
  mistake('short', 'binary data shorter than binary_data_size says', (trial) => {
    const { body, headers } = binaryRequest(trial.inputs());
    return { headers, body: body.subarray(0, body.length - 1) };
  }),
  mistake('long', 'bytes after the last input', (trial) => {
    const { body, headers } = binaryRequest(trial.inputs());
    return { headers, body: Buffer.concat([body, Buffer.alloc(1)]) };
  }),
  mistake('size', 'a binary_data_size that the shape contradicts', (trial) => {
    const tensors = trial.inputs();
    const parts = tensors.map(({ bytes }) => Buffer.concat([bytes, Buffer.alloc(3)]));
    return withSizes(
      trial,
      parts.map(({ length }) => length),
      parts,
    );
  }),
  mistake('negative-size', 'a negative binary_data_size', (trial) =>
    withSizes(trial, [-1], [trial.inputs()[0]!.bytes]),
  ),
  mistake('huge-size', 'a binary_data_size of 2^62', (trial) =>
    withSizes(trial, [2 ** 62], [trial.inputs()[0]!.bytes]),
  ),
  mistake('header-length', 'an Inference-Header-Content-Length beyond the body', (trial) => {
    const { body, headers } = binaryRequest(trial.inputs());
    return { body, headers: { ...headers, 'inference-header-content-length': String(body.length + 1) } };
  }),
  mistake('header-text', 'an Inference-Header-Content-Length that is no number', (trial) => {
    const { body, headers } = binaryRequest(trial.inputs());
    return { body, headers: { ...headers, 'inference-header-content-length': 'many' } };
  }),
  {
    ...COMMON,
    id: 'binary.raw-request',
    level: 'optional',
    section: 'Raw binary request (Triton)',
    says: 'Inference-Header-Content-Length 0 sends the only input of a model without any JSON',
    run: async (trial) => {
      const [input, ...others] = trial.inputs();
      const fixed = trial.subject.inputs[0]!.shape.filter((size) => size < 0).length < 2;
      if (others.length > 0 || !fixed)
        skip('the model has several inputs, or sizes that do not follow from the bytes');
      const headers = { 'content-type': 'application/octet-stream', 'inference-header-content-length': '0' };
      const answer = await trial.postInfer(input!.bytes, headers);
      checkSame(await trial.reference(), outputsOfHttp(answer), ['JSON', 'the raw request']);
    },
  },
];

function send(trial: Trial, { body, headers }: BinaryRequest): Promise<HttpAnswer> {
  return trial.postInfer(body, headers);
}

async function checkBinary(trial: Trial, answer: HttpAnswer): Promise<void> {
  const outputs = outputsOfHttp(answer);
  const binary = answer.binary();
  check(binary !== null, 'the answer has no Inference-Header-Content-Length');
  const total = [...outputs.values()].reduce((sum, { bytes }) => sum + bytes.length, 0);
  check(binary.length === total, `the binary data has ${binary.length} bytes, all outputs ${total}`);
  checkSame(await trial.reference(), outputs, ['JSON outputs', 'binary outputs']);
  const type = answer.header('content-type');
  check(/^application\/octet-stream\b/i.test(type ?? ''), `the content type is ${shown(type)}`);
}

function mistake(name: string, what: string, make: (trial: Trial) => BinaryRequest): ConformCase {
  return {
    ...COMMON,
    id: `binary.error-${name}`,
    says: `${what} is refused`,
    run: async (trial) => {
      // Servers without the extension refuse everything.
      const right = await send(trial, binaryRequest(trial.inputs()));
      check(right.status === 200, `a right binary request is answered ${right.status}`);
      checkError(await send(trial, make(trial)));
    },
  };
}

/** A request whose first inputs say these sizes. */
function withSizes(trial: Trial, sizes: readonly number[], parts: readonly Buffer[]): BinaryRequest {
  const inputs = jsonInputs(trial.inputs()).map(({ data, ...input }, i) =>
    i < sizes.length ? { ...input, parameters: { binary_data_size: sizes[i] } } : { ...input, data },
  );
  return binaryBody({ inputs }, parts);
}
