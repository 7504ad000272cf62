import type { ConformCase } from '../case.js';
import { check, fail } from '../finding.js';
import { modelPath } from '../model/subject.js';
import { shown } from '../plain.js';
import { isObject } from '../wire/http-answer.js';
import { checkError } from './errors.js';
import { checkRefused } from './refused.js';

const COMMON = {
  level: 'extension',
  extension: 'model_configuration',
  section: 'Model configuration extension',
} as const;
const MISSING = 'conform-no-such-model';

/** How a model is configured, in the terms of Triton's ModelConfig. */
export const CONFIGURATION: readonly ConformCase[] = [
  {
    ...COMMON,
    id: 'configuration.model',
    says: 'GET /v2/models/NAME/config answers the name, max_batch_size, and inputs and outputs by their names',
    run: async ({ http, path, subject }) => {
      const config = (await http.get(`${path}/config`)).object();
      check(config.name === subject.name, `"name" is ${shown(config.name)}`);
      const { max_batch_size: batch = 0 } = config;
      check(Number.isInteger(batch), `"max_batch_size" is ${shown(batch)}`);
      checkTensors('input', config.input, subject.inputs);
      checkTensors('output', config.output, subject.outputs);
    },
  },
  {
    ...COMMON,
    id: 'configuration.version',
    says: 'GET /v2/models/NAME/versions/VERSION/config answers the same name',
    run: async ({ http, subject: { name, version } }) => {
      const config = (await http.get(`${modelPath(name, version)}/config`)).object();
      check(config.name === name, `"name" is ${shown(config.name)}`);
    },
  },
  {
    ...COMMON,
    id: 'configuration.unknown-model',
    says: 'the configuration of an unknown model is refused',
    run: async ({ http }) => checkError(await http.get(`${modelPath(MISSING)}/config`)),
  },
  {
    ...COMMON,
    id: 'configuration.grpc',
    says: 'ModelConfig answers the name, max_batch_size and inputs of GET …/config',
    run: async ({ grpc, http, path, subject }) => {
      const rest = (await http.get(`${path}/config`)).object();
      const { config } = await grpc.ask<{ config: GrpcConfig | null }>('ModelConfig', { name: subject.name });
      if (config === null) return fail('it answers no configuration');
      check(config.name === subject.name, `the name is ${shown(config.name)}`);
      const batch = rest.max_batch_size ?? 0;
      check(
        config.max_batch_size === batch,
        `max_batch_size is ${config.max_batch_size}, over HTTP ${shown(batch)}`,
      );
      const names = shown(config.input.map(({ name }) => name).sort());
      const wanted = shown(subject.inputs.map(({ name }) => name).sort());
      check(names === wanted, `the inputs are ${names}, the metadata says ${wanted}`);
    },
  },
  {
    ...COMMON,
    id: 'configuration.grpc-unknown-model',
    says: 'ModelConfig of an unknown model is refused',
    run: async ({ grpc }) => checkRefused(await grpc.call('ModelConfig', { name: MISSING })),
  },
];

interface GrpcConfig {
  readonly name: string;
  readonly max_batch_size: number;
  readonly input: readonly { readonly name: string }[];
}

function checkTensors(
  key: string,
  list: unknown,
  wanted: readonly { readonly name: string; readonly datatype: string }[],
): void {
  if (!Array.isArray(list)) fail(`"${key}" is ${shown(list)}, not a list`);
  for (const { name, datatype } of wanted) {
    const found = list.find((each: unknown) => isObject(each) && each.name === name);
    if (!isObject(found)) fail(`"${key}" lacks ${shown(name)}`);
    const type = datatype === 'BYTES' ? 'TYPE_STRING' : `TYPE_${datatype}`;
    check(
      found.data_type === type,
      `the data_type of ${shown(name)} is ${shown(found.data_type)}, not ${type}`,
    );
    check(Array.isArray(found.dims), `the dims of ${shown(name)} are ${shown(found.dims)}`);
  }
}
