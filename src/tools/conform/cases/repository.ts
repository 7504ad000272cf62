import { setTimeout as sleep } from 'node:timers/promises';
import type { ConformCase } from '../case.js';
import { absent, check, fail, skip } from '../finding.js';
import { checkSame, outputsOfHttp } from '../model/answers.js';
import { jsonInputs } from '../model/requests.js';
import { shown } from '../plain.js';
import type { Trial } from '../trial.js';
import { isObject } from '../wire/http-answer.js';
import { checkError } from './errors.js';
import { checkRefused } from './refused.js';

const COMMON = {
  level: 'extension',
  extension: 'model_repository',
  section: 'Model repository extension',
} as const;
const MISSING = 'conform-no-such-model';
const PAUSE_MS = 250;

/** Which models there are, and loading and unloading them. */
export const REPOSITORY: readonly ConformCase[] = [
  {
    ...COMMON,
    id: 'repository.index',
    says: 'POST /v2/repository/index answers name, version, state and reason of each model',
    run: async (trial) => {
      const entries = await index(trial, {});
      const own = entries.filter(({ name }) => name === trial.subject.name);
      check(own.length > 0, `${shown(trial.subject.name)} is not in it`);
      check(
        own.some(({ state }) => state === 'READY'),
        `its state is ${shown(own.map(({ state }) => state))}`,
      );
      for (const { name, state, reason, version } of entries) {
        const isText = typeof name === 'string' && typeof state === 'string';
        check(
          isText && (reason === undefined || typeof reason === 'string'),
          `an entry is of ${shown(name)}`,
        );
        check(version === undefined || typeof version === 'string', `a version is ${shown(version)}`);
      }
    },
  },
  {
    ...COMMON,
    id: 'repository.index-ready',
    says: '"ready": true limits the index to models that are ready',
    run: async (trial) => {
      const entries = await index(trial, { ready: true });
      const others = entries.filter(({ state }) => state !== 'READY');
      check(others.length === 0, `it has ${shown(others[0])}`);
      check(
        entries.some(({ name }) => name === trial.subject.name),
        `${shown(trial.subject.name)} is not in it`,
      );
    },
  },
  {
    ...COMMON,
    id: 'repository.index-empty-body',
    level: 'advice',
    says: 'the index answers an empty body, too, as clients send it',
    run: async ({ http }) => {
      const { status } = await http.post('/v2/repository/index', '');
      check(status === 200, `the status is ${status}`);
    },
  },
  {
    ...COMMON,
    id: 'repository.load-unknown',
    says: 'a load of an unknown model is refused',
    run: async ({ http }) => checkError(await http.post(`/v2/repository/models/${MISSING}/load`, {})),
  },
  {
    ...COMMON,
    id: 'repository.grpc-index',
    says: 'RepositoryIndex answers the models of the index over HTTP',
    run: async (trial) => {
      const key = ({ name, version, state }: Entry) => `${name} ${version ?? ''} ${state}`;
      const { models } = await trial.grpc.ask<{ models: Entry[] }>('RepositoryIndex', {});
      const got = shown(models.map(key).sort());
      const wanted = shown((await index(trial, {})).map(key).sort());
      check(got === wanted, `gRPC says ${got}, HTTP ${wanted}`);
    },
  },
  {
    ...COMMON,
    id: 'repository.grpc-load-unknown',
    says: 'RepositoryModelLoad of an unknown model is refused',
    run: async ({ grpc }) => checkRefused(await grpc.call('RepositoryModelLoad', { model_name: MISSING })),
  },
  {
    ...COMMON,
    id: 'repository.unload-load',
    says: 'unload takes a model out of service, load brings it back with the same answers',
    run: async (trial) => {
      if (!trial.mayUnload) skip('--unload was not given');
      const before = await trial.reference();
      await control(trial, 'unload');
      try {
        await until(
          trial,
          async () => (await trial.http.get(`${trial.path}/ready`)).status !== 200,
          'it is still ready',
        );
        checkError(await trial.http.post(`${trial.path}/infer`, { inputs: jsonInputs(trial.inputs()) }));
      } finally {
        await control(trial, 'load');
      }
      await until(
        trial,
        async () => (await trial.http.get(`${trial.path}/ready`)).status === 200,
        'it is not ready again',
      );
      checkSame(before, outputsOfHttp(await trial.infer()), ['the answer before', 'the answer after']);
    },
  },
  {
    ...COMMON,
    id: 'repository.models',
    level: 'optional',
    section: 'GET /v2/models (KServe and others)',
    says: 'GET /v2/models lists the model',
    run: async ({ http, subject }) => {
      const answer = await http.get('/v2/models');
      if (answer.status === 404 || answer.status === 405) absent(`the status is ${answer.status}`);
      check(answer.status === 200, `the status is ${answer.status}`);
      const value = answer.json();
      const list = isObject(value) ? value.models : value;
      if (!Array.isArray(list)) return fail(`the answer is ${shown(value)}`);
      const names = list.map((each: unknown) => (isObject(each) ? each.name : each));
      check(names.includes(subject.name), `the names are ${shown(names)}`);
    },
  },
];

interface Entry {
  readonly name?: unknown;
  readonly version?: unknown;
  readonly state?: unknown;
  readonly reason?: unknown;
}

async function index({ http }: Trial, body: object): Promise<Entry[]> {
  const answer = await http.post('/v2/repository/index', body);
  check(answer.status === 200, `the status is ${answer.status}`);
  const list = answer.json();
  return Array.isArray(list) && list.every(isObject) ? list : fail(`the answer is ${shown(list)}`);
}

async function control({ http, subject }: Trial, what: 'load' | 'unload'): Promise<void> {
  const { status, text } = await http.post(
    `/v2/repository/models/${encodeURIComponent(subject.name)}/${what}`,
    {},
  );
  check(status === 200, `${what} is answered ${status}: ${shown(text.slice(0, 200))}`);
}

/** A server may answer a load or unload before it is done. */
async function until({ endpoint }: Trial, holds: () => Promise<boolean>, problem: string): Promise<void> {
  const deadline = performance.now() + endpoint.timeoutMs;
  while (performance.now() < deadline) {
    if (await holds()) return;
    await sleep(PAUSE_MS);
  }
  fail(`${problem} after ${endpoint.timeoutMs / 1000} s`);
}
