import { status } from '@grpc/grpc-js';
import type { ConformCase } from '../case.js';
import { check, skip } from '../finding.js';
import { checkSame, type Outputs, outputsOfHttp } from '../model/answers.js';
import { jsonInputs, rawGrpcRequest } from '../model/requests.js';
import type { Trial } from '../trial.js';
import type { HttpAnswer } from '../wire/http-answer.js';
import { checkError } from './errors.js';

/** No server has so many priorities. */
const UNKNOWN = 987_654_321;
const UNKNOWN_TENANT = 'conform-no-such-tenant';
/** Requests of a tenant that are sent together, and how often, until one is refused. */
const AT_ONCE = 16;
const MOST_ROUNDS = 64;

const PRIORITY = { level: 'advice', section: 'Triton, Schedule Policy Extension' } as const;
const TENANT = { level: 'advice', section: 'RFC 6585, 4: Too Many Requests' } as const;

/** On whose behalf a request is sent, and what it matters. What the values mean is up to the server's configuration. */
export const SENDERS: readonly ConformCase[] = [
  {
    ...PRIORITY,
    id: 'senders.no-priority',
    says: 'a priority of 0, which clients send where they mean none, changes nothing',
    run: async (trial) => checkSame(await askAs(trial, 0), await trial.reference(), ['priority 0', 'none']),
  },
  {
    ...PRIORITY,
    id: 'senders.priority',
    says: 'each priority that the server has (--priority) leads to the same answer',
    run: async (trial) => {
      const reference = await trial.reference();
      for (const priority of prioritiesOf(trial))
        checkSame(await askAs(trial, priority), reference, [`priority ${priority}`, 'none']);
    },
  },
  {
    ...PRIORITY,
    id: 'senders.unknown-priority',
    says: 'a priority that means nothing to the server is refused, and the reason names it',
    run: async (trial) => {
      const answer = await trial.infer({ parameters: { priority: UNKNOWN } });
      checkError(answer);
      check(answer.status < 500, `the status is ${answer.status}, which blames the server`);
      check(/priority/i.test(answer.text), 'the reason says nothing of a priority');
    },
  },
  {
    ...PRIORITY,
    id: 'senders.grpc-priority',
    says: 'each priority that the server has (--priority) leads to the same answer over gRPC',
    run: async (trial) => {
      const reference = await trial.grpcOutputs(grpcRequest(trial, 0));
      for (const priority of prioritiesOf(trial))
        checkSame(await trial.grpcOutputs(grpcRequest(trial, priority)), reference, [
          `priority ${priority}`,
          'none',
        ]);
    },
  },
  {
    ...PRIORITY,
    id: 'senders.grpc-unknown-priority',
    says: 'such a priority is refused over gRPC with INVALID_ARGUMENT',
    run: async (trial) => {
      const { code, text } = await trial.inferGrpc(grpcRequest(trial, UNKNOWN));
      check(code === status.INVALID_ARGUMENT, `it ends with ${text}`);
      check(/priority/i.test(text), 'the reason says nothing of a priority');
    },
  },
  {
    ...TENANT,
    id: 'senders.unknown-tenant',
    says: 'a tenant that the server does not know is served like a client that names none',
    run: async (trial) => {
      const answer = await trial.postInfer(
        { inputs: jsonInputs(trial.inputs()) },
        headerOf(trial, UNKNOWN_TENANT),
      );
      check(answer.status === 200, `the status is ${answer.status}: ${answer.text.slice(0, 200)}`);
    },
  },
  {
    ...TENANT,
    id: 'senders.rate',
    says: 'a tenant beyond its rate (--limited-tenant) is answered 429, with Retry-After and a reason',
    run: async (trial) => {
      const refused = await askUntilRefused(trial, limitedOf(trial));
      check(refused.status === 429, `the status is ${refused.status}: ${refused.text.slice(0, 200)}`);
      checkError(refused);
      const wait = refused.header('retry-after');
      check(wait !== undefined && /^\d+$/.test(wait), `Retry-After is ${wait ?? 'missing'}`);
    },
  },
];

async function askAs(trial: Trial, priority: number): Promise<Outputs> {
  return outputsOfHttp(await trial.infer({ parameters: { priority } }));
}

function grpcRequest(trial: Trial, priority: number): object {
  const parameters = priority === 0 ? {} : { parameters: { priority: { int64_param: priority } } };
  return rawGrpcRequest(trial.subject.name, trial.inputs(), parameters);
}

function prioritiesOf({ senders: { priorities } }: Trial): readonly number[] {
  return priorities.length > 0 ? priorities : skip('no --priority NUMBER');
}

function limitedOf({ senders: { limitedTenant } }: Trial): string {
  return limitedTenant ?? skip('no --limited-tenant NAME');
}

function headerOf({ senders: { tenantHeader } }: Trial, tenant: string) {
  return { [tenantHeader]: tenant };
}

/** The first answer that is none; fails if all requests are served. */
async function askUntilRefused(trial: Trial, tenant: string): Promise<HttpAnswer> {
  const body = { inputs: jsonInputs(trial.inputs()) };
  for (let round = 0; round < MOST_ROUNDS; round++) {
    const answers = await Promise.all(
      Array.from({ length: AT_ONCE }, () =>
        trial.http.post(`${trial.path}/infer`, body, headerOf(trial, tenant)),
      ),
    );
    const refused = answers.find(({ status: code }) => code !== 200);
    if (refused !== undefined) return refused;
  }
  return skip(`all ${AT_ONCE * MOST_ROUNDS} requests were served: ${tenant} has no rate, or a higher one`);
}
