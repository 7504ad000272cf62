import { status as codes } from '@grpc/grpc-js';
import { type Case, check, rows, shown, skip } from '../case.js';
import { blamed, endsWith, refused, same, status } from '../columns.js';
import type { HttpAnswer } from '../http.js';
import { checkSame, outputsOfGrpc } from '../tensors.js';
import { INFER, jsonInputs, type Trial } from '../trial.js';

const senders = rows('senders');
/** No server has so many priorities. */
const UNKNOWN = 987_654_321;
/** Requests of a tenant that are sent together, and how often, until one is refused. */
const AT_ONCE = 16;
const MOST_ROUNDS = 64;

/**
 * On whose behalf a request is sent, and what it matters (Triton, Schedule Policy Extension; RFC 6585, 4). What the values
 * mean is up to the server's configuration.
 */
export const SENDERS: readonly Case[] = [
  // Which clients send where they mean none.
  senders.advice('no-priority', inferAs(0), same),
  senders.advice('priority', async (t) => {
    for (const priority of prioritiesOf(t)) await same(await inferAs(priority)(t), t);
  }),
  senders.advice('unknown-priority', inferAs(UNKNOWN), (answer) => {
    refused(answer);
    blamed(answer);
    check(/priority/i.test(answer.text), 'the reason says nothing of a priority');
  }),
  senders.advice('grpc-priority', async (t) => {
    const reference = outputsOfGrpc(await t.inferGrpc(t.rawRequest()));
    for (const priority of prioritiesOf(t))
      checkSame(reference, outputsOfGrpc(await inferGrpcAs(priority)(t)));
  }),
  senders.advice('grpc-unknown-priority', inferGrpcAs(UNKNOWN), (answer) => {
    endsWith(codes.INVALID_ARGUMENT)(answer);
    check(/priority/i.test(answer.text), 'the reason says nothing of a priority');
  }),
  // Served like a client that names none.
  senders.advice(
    'unknown-tenant',
    (t) =>
      t.postInfer({ inputs: jsonInputs(t.inputs()) }, { [t.known.tenantHeader]: 'conform-no-such-tenant' }),
    status(200),
  ),
  senders.advice('rate', inferUntilRefused, (answer) => {
    check(answer.status === 429, `the status is ${answer.status}: ${shown(answer.text)}`);
    refused(answer);
    const { 'retry-after': wait = 'missing' } = answer.headers;
    check(/^\d+$/.test(wait), `Retry-After is ${wait}`);
  }),
];

function inferAs(priority: number) {
  return (t: Trial) => t.infer({ parameters: { priority } });
}

function inferGrpcAs(priority: number) {
  return (t: Trial) => t.inferGrpc(t.rawRequest({ parameters: { priority: { int64_param: priority } } }));
}

function prioritiesOf({ known: { priorities } }: Trial): readonly number[] {
  return priorities.length > 0 ? priorities : skip('no --priority NUMBER');
}

/** The first answer to a tenant's requests that is no success. */
async function inferUntilRefused(t: Trial): Promise<HttpAnswer> {
  const { limitedTenant: tenant = skip('no --limited-tenant NAME'), tenantHeader } = t.known;
  const request = { body: { inputs: jsonInputs(t.inputs()) }, headers: { [tenantHeader]: tenant } };
  for (let round = 0; round < MOST_ROUNDS; round++) {
    const answers = await Promise.all(Array.from({ length: AT_ONCE }, () => t.http('POST', INFER, request)));
    const found = answers.find(({ status: got }) => got !== 200);
    if (found !== undefined) return found;
  }
  return skip(`all ${AT_ONCE * MOST_ROUNDS} requests were served: ${tenant} has no rate, or a higher one`);
}
