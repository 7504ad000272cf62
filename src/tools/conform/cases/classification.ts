import type { ConformCase } from '../case.js';
import { check, fail, skip } from '../finding.js';
import type { Outputs } from '../model/answers.js';
import { rawGrpcRequest } from '../model/requests.js';
import { countOf, elementsOf, stringsOf, type Tensor } from '../model/tensors.js';
import { shown } from '../plain.js';
import type { Trial } from '../trial.js';
import { isObject } from '../wire/http-answer.js';
import { checkError } from './errors.js';

const COMMON = {
  level: 'extension',
  extension: 'classification',
  section: 'Classification extension',
} as const;
const COUNT = 2;

/** The highest values of an output, as texts. */
export const CLASSIFICATION: readonly ConformCase[] = [
  {
    ...COMMON,
    id: 'classification.http',
    says: 'the parameter classification answers the highest values as VALUE:INDEX, in descending order',
    run: async (trial) => {
      const output = await classes(trial);
      const outputs = [{ name: output.name, parameters: { classification: COUNT } }];
      const answer = await trial.infer({ outputs });
      check(answer.status === 200, `the status is ${answer.status}: ${shown(answer.text.slice(0, 200))}`);
      const { outputs: got } = answer.object();
      const first: unknown = Array.isArray(got) ? got[0] : undefined;
      if (!isObject(first)) return fail(`"outputs" is ${shown(got)}`);
      const { datatype, data } = first;
      check(datatype === 'BYTES' || datatype === 'STRING', `the datatype is ${shown(datatype)}`);
      if (!Array.isArray(data)) return fail(`"data" is ${shown(data)}`);
      checkClasses(output, data.flat().map(String));
    },
  },
  {
    ...COMMON,
    id: 'classification.negative',
    level: 'advice',
    says: 'a negative count is refused',
    run: async (trial) => {
      const output = await classes(trial);
      checkError(await trial.infer({ outputs: [{ name: output.name, parameters: { classification: -1 } }] }));
    },
  },
  {
    ...COMMON,
    id: 'classification.grpc',
    says: 'over gRPC, the parameter classification answers the highest values as VALUE:INDEX',
    run: async (trial) => {
      const output = await classes(trial);
      const outputs = [{ name: output.name, parameters: { classification: { int64_param: COUNT } } }];
      const got: Outputs = await trial.grpcOutputs(
        rawGrpcRequest(trial.subject.name, trial.inputs(), { outputs }),
      );
      const tensor = got.get(output.name);
      if (tensor?.datatype !== 'BYTES') return fail(`the datatype is ${shown(tensor?.datatype)}, not BYTES`);
      checkClasses(
        output,
        stringsOf(tensor.bytes).map((text) => text.toString('utf8')),
      );
    },
  },
];

/** An output with several values in one row. */
async function classes(trial: Trial): Promise<Tensor> {
  const outputs = [...(await trial.reference()).values()];
  const found = outputs.find(({ datatype, shape }) => {
    const values = countOf(shape);
    return datatype !== 'BYTES' && datatype !== 'BOOL' && values >= COUNT && values === shape.at(-1);
  });
  return found ?? skip('no output of the model is one row of several numbers');
}

function checkClasses(output: Tensor, texts: readonly string[]): void {
  check(texts.length === COUNT, `${texts.length} classes come back, not ${COUNT}: ${shown(texts)}`);
  const values = elementsOf(output).map(Number);
  const highest = [...values].sort((a, b) => b - a);
  for (const [i, text] of texts.entries()) {
    const [value = '', place = ''] = text.split(':');
    const index = Number(place);
    check(/^\d+$/.test(place) && index < values.length, `class ${i} is ${shown(text)}, not VALUE:INDEX`);
    check(
      values[index] === highest[i],
      `class ${i} is ${shown(text)}; the value at ${index} is ${values[index]}`,
    );
    // Texts have as many digits as the server prints.
    const off = Math.abs(Number(value) - values[index]!);
    check(
      off <= Math.abs(values[index]!) * 1e-4 + 1e-5,
      `class ${i} is ${shown(text)}, the value is ${values[index]}`,
    );
  }
}
