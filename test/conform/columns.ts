import { status as codes } from '@grpc/grpc-js';
import { z } from 'zod';
import { type Ask, check, type Expect, fail, shown } from './case.js';
import type { GrpcAnswer } from './grpc.js';
import type { HttpAnswer, Loose } from './http.js';
import { checkSame, outputsOfGrpc, outputsOfHttp } from './tensors.js';
import type { Trial } from './trial.js';

/*
 * What the tables are written with: requests, and what an answer must be.
 */

export function get(path: string): Ask {
  return (t) => t.http('GET', path);
}

export function post(path: string, body: unknown): Ask {
  return (t) => t.http('POST', path, { body });
}

export function call(method: string, message: object | ((t: Trial) => object) = {}): Ask<GrpcAnswer> {
  return async (t) => t.call(method, typeof message === 'function' ? message(t) : message);
}

/** The answer has this status. */
export function status(wanted: number): Expect {
  return ({ status: got }) => check(got === wanted, `the status is ${got}`);
}

/** The answer succeeds with JSON of this schema. */
export function json(schema: z.ZodType): Expect {
  return (answer) => void parse(answer, schema);
}

/** The same, with the model's name. */
export function named(schema: z.ZodObject): Expect {
  return (answer, { model }) => void parse(answer, schema.extend({ name: z.literal(model.name) }));
}

/** The names that the answer lists have the model's. */
export function lists(names: (answer: HttpAnswer) => unknown[]): Expect {
  return (answer, { model }) => {
    const got = names(answer);
    check(got.includes(model.name), `the names are ${shown(got)}`);
  };
}

export function parse<T>(answer: HttpAnswer, schema: z.ZodType<T>): T {
  check(answer.status === 200, `the status is ${answer.status}, not 200`);
  const { data, error } = schema.safeParse(answer.json());
  return error === undefined ? (data as T) : fail(z.prettifyError(error));
}

/** The answer is an error as the protocol wants it. */
export function refused(answer: HttpAnswer): void {
  check(answer.status >= 400, `the status is ${answer.status}: ${shown(answer.text)}`);
  const { error } = answer.json() ?? {};
  check(typeof error === 'string' && error !== '', `the body is ${shown(answer.text)}, not {"error": …}`);
}

/** The answer blames the client. */
export function blamed({ status: got }: HttpAnswer): void {
  check(got >= 400 && got < 500, `the status is ${got}`);
}

/** The answer has the outputs that the same inputs lead to as JSON. */
export async function same(answer: HttpAnswer, t: Trial): Promise<void> {
  checkSame(await t.reference(), outputsOfHttp(answer));
}

/** The call succeeds with a message for which this holds. */
export function ok(holds: (message: Loose) => boolean): Expect<GrpcAnswer> {
  return ({ message, text }) => check(message !== null && holds(message), `it ends with ${text}`);
}

/** The same of a call. */
export async function sameGrpc(answer: GrpcAnswer, t: Trial): Promise<void> {
  checkSame(await t.reference(), outputsOfGrpc(answer));
}

/** The message of the call says what an answer over HTTP says. */
export function agrees(ask: Ask, of: (body: Loose) => unknown): Expect<GrpcAnswer> {
  return async ({ message, text }, t) => {
    check(message !== null, `it ends with ${text}`);
    const [got, wanted] = [message, (await ask(t)).json()].map((body) => JSON.stringify(of(body)));
    check(got === wanted, `gRPC says ${got}, HTTP ${wanted}`);
  };
}

/** The call ends with one of these codes. */
export function endsWith(...wanted: readonly number[]) {
  return ({ code, text }: GrpcAnswer) => check(wanted.includes(code), `it ends with ${text}`);
}

/** The call does not succeed, and ends in time. */
export function refusedGrpc({ code, text }: GrpcAnswer): void {
  check(code !== codes.OK && code !== codes.DEADLINE_EXCEEDED, `it ends with ${text}`);
}
