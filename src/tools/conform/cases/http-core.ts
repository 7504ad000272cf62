import type { ConformCase } from '../case.js';
import { check, skip } from '../finding.js';
import { checkSame, outputsOfHttp } from '../model/answers.js';
import { readModel, readServer } from '../model/metadata.js';
import { jsonInputs, nestedInputs } from '../model/requests.js';
import { modelPath } from '../model/subject.js';
import { shown } from '../plain.js';
import type { Trial } from '../trial.js';
import { checkError } from './errors.js';

/** Health and metadata over HTTP. */
export const HTTP_CORE: readonly ConformCase[] = [
  {
    id: 'http.live',
    level: 'required',
    section: 'REST, Server Live',
    says: 'GET /v2/health/live answers 200',
    run: async ({ http }) => checkStatus(await http.get('/v2/health/live')),
  },
  {
    id: 'http.live-body',
    level: 'advice',
    section: 'REST, Server Live Response JSON Object (the OpenAPI file has no body)',
    says: 'GET /v2/health/live answers {"live": true}',
    run: async ({ http }) => checkTrue((await http.get('/v2/health/live')).object(), ['live']),
  },
  {
    id: 'http.ready',
    level: 'required',
    section: 'REST, Server Ready',
    says: 'GET /v2/health/ready answers 200',
    run: async ({ http }) => checkStatus(await http.get('/v2/health/ready')),
  },
  {
    id: 'http.ready-body',
    level: 'advice',
    section: 'REST, Server Ready Response JSON Object (which calls it "live"; clients expect "ready")',
    says: 'GET /v2/health/ready answers {"ready": true}',
    run: async ({ http }) => checkTrue((await http.get('/v2/health/ready')).object(), ['ready', 'live']),
  },
  {
    id: 'http.model-ready',
    level: 'required',
    section: 'REST, Model Ready',
    says: 'GET /v2/models/NAME/ready answers 200',
    run: async ({ http, path }) => checkStatus(await http.get(`${path}/ready`)),
  },
  {
    id: 'http.model-ready-body',
    level: 'advice',
    section: 'REST, Model Ready Response JSON Object (the OpenAPI file has no body)',
    says: 'GET /v2/models/NAME/ready answers {"name": …, "ready": true}',
    run: async ({ http, path, subject }) => {
      const body = (await http.get(`${path}/ready`)).object();
      checkTrue(body, ['ready']);
      check(body.name === subject.name, `"name" is ${shown(body.name)}`);
    },
  },
  {
    id: 'http.model-ready-version',
    level: 'required',
    section: 'REST, Model Ready',
    says: 'GET /v2/models/NAME/versions/VERSION/ready answers 200 for a version of the metadata',
    run: async (trial) => checkStatus(await trial.http.get(`${versionPath(trial)}/ready`)),
  },
  {
    id: 'http.server-metadata',
    level: 'required',
    section: 'REST, Server Metadata Response JSON Object',
    says: 'GET /v2 answers name, version and extensions',
    run: async ({ http }) => {
      readServer(await http.get('/v2'));
    },
  },
  {
    id: 'http.model-metadata',
    level: 'required',
    section: 'REST, Model Metadata Response JSON Object',
    says: 'GET /v2/models/NAME answers name, platform, inputs and outputs',
    run: async ({ http, path, subject }) => {
      const { name, outputs } = readModel(await http.get(path));
      check(name === subject.name, `"name" is ${shown(name)}`);
      check(outputs.length > 0, '"outputs" is empty');
    },
  },
  {
    id: 'http.model-metadata-version',
    level: 'required',
    section: 'REST, Model Metadata',
    says: 'GET /v2/models/NAME/versions/VERSION answers as without the version',
    run: async (trial) => {
      const { name } = readModel(await trial.http.get(versionPath(trial)));
      check(name === trial.subject.name, `"name" is ${shown(name)}`);
    },
  },
  {
    id: 'http.content-type',
    level: 'advice',
    section: 'REST, Inference Request Examples',
    says: 'answers in JSON have the content type application/json',
    run: async (trial) => {
      const answers = [await trial.http.get('/v2'), await trial.http.get(trial.path), await trial.infer()];
      for (const answer of answers) {
        const type = answer.header('content-type');
        check(/^application\/json\b/i.test(type ?? ''), `the content type is ${shown(type)}`);
      }
    },
  },
  {
    id: 'http.slash',
    level: 'advice',
    section: 'REST, OpenAPI file (paths: /v2/)',
    says: 'GET /v2/ answers as GET /v2',
    run: async ({ http }) => {
      readServer(await http.get('/v2/'));
    },
  },
];

/** Inference over HTTP with JSON. */
export const HTTP_INFERENCE: readonly ConformCase[] = [
  {
    id: 'http.infer',
    level: 'required',
    section: 'REST, Inference Response JSON Object',
    says: 'POST …/infer answers model_name, and every output of the metadata with its datatype and shape',
    run: async (trial) => {
      const answer = await trial.infer();
      const outputs = outputsOfHttp(answer);
      const { model_name: name } = answer.object();
      check(name === trial.subject.name, `"model_name" is ${shown(name)}`);
      for (const { name: output, datatype, shape } of trial.subject.outputs) {
        const got = outputs.get(output);
        check(got !== undefined, `output ${shown(output)} is missing`);
        check(
          got.datatype === datatype,
          `output ${shown(output)} is ${got.datatype}, the metadata says ${datatype}`,
        );
        const fits =
          shape.length === got.shape.length && shape.every((size, i) => size < 0 || size === got.shape[i]);
        check(
          fits,
          `output ${shown(output)} has the shape ${shown(got.shape)}, the metadata says ${shown(shape)}`,
        );
      }
    },
  },
  {
    id: 'http.infer-again',
    level: 'advice',
    section: 'REST, Inference',
    says: 'the same inputs are answered with the same bits (fails for models that use random numbers)',
    run: async (trial) =>
      checkSame(await trial.reference(), await trial.reference(), ['one answer', 'the next']),
  },
  returned('infer-id', 'the id of a request comes back', ['42', 'x'.repeat(200)]),
  returned('infer-id-text', 'an id comes back that is any text', ['grüße', '"\\ /', 'a\u0001b']),
  {
    id: 'http.infer-nested',
    level: 'required',
    section: 'REST, Tensor Data',
    says: 'data may be nested as the shape is, or flat, with the same answer',
    run: async (trial) => {
      const nested = await trial.infer({}, { inputs: nestedInputs(trial.inputs()) });
      checkSame(await trial.reference(), outputsOfHttp(nested), ['flat data', 'nested data']);
    },
  },
  {
    id: 'http.infer-outputs',
    level: 'required',
    section: 'REST, Request Output',
    says: 'each output that is asked for comes alone, with the same bits',
    run: async (trial) => {
      const whole = await trial.reference();
      for (const [name, tensor] of whole) {
        const outputs = outputsOfHttp(await trial.infer({ outputs: [{ name }] }));
        checkSame(new Map([[name, tensor]]), outputs, ['all outputs', `a request for ${shown(name)}`]);
      }
    },
  },
  {
    id: 'http.infer-version',
    level: 'required',
    section: 'REST, Inference',
    says: 'a version of the metadata can be asked explicitly, and names itself in model_version',
    run: async (trial) => {
      const answer = await trial.infer({}, { path: versionPath(trial) });
      outputsOfHttp(answer);
      const { model_version: version } = answer.object();
      check(version === trial.subject.version, `"model_version" is ${shown(version)}`);
    },
  },
  {
    id: 'http.infer-parameters',
    level: 'advice',
    section: 'REST, Parameters',
    says: 'parameters that a server does not know do no harm, or are refused as a mistake of the client',
    run: async (trial) => {
      const parameters = { 'conform-note': 'a text', 'conform-flag': true, 'conform-count': 3 };
      const inputs = jsonInputs(trial.inputs()).map((input) => ({ ...input, parameters }));
      const answer = await trial.infer({ parameters }, { inputs });
      if (answer.status === 400) checkError(answer);
      else checkSame(await trial.reference(), outputsOfHttp(answer), ['no parameters', 'some']);
    },
  },
  {
    id: 'http.infer-batch',
    level: 'advice',
    section: 'REST, Model Metadata ("variable-size dimensions are specified as -1")',
    says: 'two rows are answered with two rows if the first dimension of all inputs is -1',
    run: async (trial) => {
      const { inputs, outputs } = trial.subject;
      if (![...inputs, ...outputs].every(({ shape }) => shape[0] === -1))
        skip('the first dimension is not -1');
      const answer = outputsOfHttp(await trial.infer({}, { inputs: jsonInputs(trial.inputs(0, 2)) }));
      for (const { name, shape } of answer.values())
        check(shape[0] === 2, `output ${shown(name)} has the shape ${shown(shape)}`);
    },
  },
];

function versionPath({ subject }: Trial): string {
  if (subject.version === null) skip('the metadata names no version');
  return modelPath(subject.name, subject.version);
}

function checkStatus({ status }: { readonly status: number }): void {
  check(status === 200, `the status is ${status}`);
}

function checkTrue(body: Readonly<Record<string, unknown>>, keys: readonly string[]): void {
  check(
    keys.some((key) => body[key] === true),
    `the body is ${shown(body)}`,
  );
}

function returned(name: string, says: string, ids: readonly string[]): ConformCase {
  return {
    id: `http.${name}`,
    level: 'required',
    section: 'REST, Inference Request JSON Object ("must be returned in the response")',
    says,
    run: async (trial) => {
      for (const id of ids) {
        const got = (await trial.infer({ id })).object().id;
        check(got === id, `${shown(id)} came back as ${shown(got)}`);
      }
    },
  };
}
