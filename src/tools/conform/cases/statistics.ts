import type { ConformCase } from '../case.js';
import { check, fail } from '../finding.js';
import { modelPath } from '../model/subject.js';
import { shown } from '../plain.js';
import type { Trial } from '../trial.js';
import { isObject } from '../wire/http-answer.js';
import { checkError } from './errors.js';
import { checkRefused } from './refused.js';

const COMMON = { level: 'extension', extension: 'statistics', section: 'Statistics extension' } as const;
const MISSING = 'conform-no-such-model';

type Fields = Readonly<Record<string, unknown>>;

interface GrpcStatistics {
  readonly name: string;
  readonly version: string;
  readonly inference_count: string;
  readonly inference_stats: { readonly success: { readonly count: string } | null } | null;
}

/** Counts and durations of each model. */
export const STATISTICS: readonly ConformCase[] = [
  {
    ...COMMON,
    id: 'statistics.model',
    says: 'GET /v2/models/NAME/stats answers model_stats with counts and durations',
    run: async (trial) => {
      await trial.infer();
      const all = await read(trial, `${trial.path}/stats`);
      check(all.length > 0, '"model_stats" is empty');
      for (const one of all) checkFields(trial, one);
    },
  },
  {
    ...COMMON,
    id: 'statistics.all',
    says: 'GET /v2/models/stats answers those of all models',
    run: async (trial) => {
      const names = (await read(trial, '/v2/models/stats')).map(({ name }) => name);
      check(names.includes(trial.subject.name), `the names are ${shown(names)}`);
    },
  },
  {
    ...COMMON,
    id: 'statistics.version',
    says: 'GET /v2/models/NAME/versions/VERSION/stats answers those of one version',
    run: async (trial) => {
      const { name, version } = trial.subject;
      const all = await read(trial, `${modelPath(name, version)}/stats`);
      check(all.length === 1, `"model_stats" has ${all.length} entries`);
      check(version === null || all[0]!.version === version, `the version is ${shown(all[0]!.version)}`);
    },
  },
  {
    ...COMMON,
    id: 'statistics.counts',
    says: 'an inference adds its rows to inference_count, and one to the requests that succeeded',
    run: async (trial) => {
      const before = countsOf(await read(trial, `${trial.path}/stats`));
      for (let i = 0; i < 3; i++) await trial.infer();
      const after = countsOf(await read(trial, `${trial.path}/stats`));
      for (const key of ['inferences', 'executions', 'successes'] as const) {
        const least = key === 'executions' ? 1 : 3;
        check(
          after[key] - before[key] >= least,
          `${key} went from ${before[key]} to ${after[key]} by 3 inferences`,
        );
      }
    },
  },
  {
    ...COMMON,
    id: 'statistics.unknown-model',
    says: 'the statistics of an unknown model are refused',
    run: async ({ http }) => checkError(await http.get(`${modelPath(MISSING)}/stats`)),
  },
  {
    ...COMMON,
    id: 'statistics.grpc',
    says: 'ModelStatistics answers the counts of GET …/stats',
    run: async (trial) => {
      const { name } = trial.subject;
      const before = countsOf(await read(trial, `${trial.path}/stats`));
      const { model_stats: all } = await trial.grpc.ask<{ model_stats: GrpcStatistics[] }>(
        'ModelStatistics',
        { name },
      );
      const after = countsOf(await read(trial, `${trial.path}/stats`));
      const sum = (of: (one: GrpcStatistics) => unknown) =>
        all.reduce((total, one) => total + Number(of(one) ?? 0), 0);
      const within = (key: 'inferences' | 'successes', got: number) =>
        check(
          got >= before[key] && got <= after[key],
          `${key} are ${got} over gRPC and ${after[key]} over HTTP`,
        );
      within(
        'inferences',
        sum((one) => one.inference_count),
      );
      within(
        'successes',
        sum((one) => one.inference_stats?.success?.count),
      );
    },
  },
  {
    ...COMMON,
    id: 'statistics.grpc-unknown-model',
    says: 'ModelStatistics of an unknown model is refused',
    run: async ({ grpc }) => checkRefused(await grpc.call('ModelStatistics', { name: MISSING })),
  },
];

async function read({ http }: Trial, path: string): Promise<Fields[]> {
  const answer = await http.get(path);
  check(answer.status === 200, `the status is ${answer.status}`);
  const { model_stats: all } = answer.object();
  return Array.isArray(all) && all.every(isObject) ? all : fail(`"model_stats" is ${shown(all)}`);
}

function checkFields({ subject }: Trial, one: Fields): void {
  check(one.name === subject.name, `"name" is ${shown(one.name)}`);
  for (const key of ['last_inference', 'inference_count', 'execution_count']) checkCount(key, one[key]);
  const { inference_stats: stats, batch_stats: batches } = one;
  if (!isObject(stats)) fail(`"inference_stats" is ${shown(stats)}`);
  for (const key of ['success', 'fail', 'queue', 'compute_input', 'compute_infer', 'compute_output'])
    checkDuration(`inference_stats.${key}`, stats[key]);
  if (!Array.isArray(batches)) fail(`"batch_stats" is ${shown(batches)}`);
  for (const batch of batches) {
    if (!isObject(batch)) fail(`an entry of "batch_stats" is ${shown(batch)}`);
    checkCount('batch_size', batch.batch_size);
    for (const key of ['compute_input', 'compute_infer', 'compute_output'])
      checkDuration(`batch_stats.${key}`, batch[key]);
  }
}

function checkDuration(name: string, value: unknown): void {
  if (!isObject(value)) fail(`"${name}" is ${shown(value)}`);
  checkCount(`${name}.count`, value.count);
  checkCount(`${name}.ns`, value.ns);
}

function checkCount(name: string, value: unknown): void {
  check(Number.isInteger(value) && (value as number) >= 0, `"${name}" is ${shown(value)}`);
}

/** Sums over the versions of a model. */
function countsOf(all: readonly Fields[]) {
  const sum = (of: (one: Fields) => unknown) => all.reduce((total, one) => total + Number(of(one) ?? 0), 0);
  return {
    inferences: sum((one) => one.inference_count),
    executions: sum((one) => one.execution_count),
    successes: sum(({ inference_stats: stats }) =>
      isObject(stats) && isObject(stats.success) ? stats.success.count : 0,
    ),
  };
}
