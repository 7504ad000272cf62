import { EscapementError } from '../../base/errors.js';
import { protocolHint } from '../../base/protocol-hint.js';
import { hasLength, lengthsOf } from '../../load/description.js';
import { undescribed } from '../../load/http-api.js';
import { Finding } from './finding.js';
import { outputsOfHttp } from './model/answers.js';
import { canBeMade, INTEGERS, makeInputs } from './model/make-inputs.js';
import { readModel, readServer } from './model/metadata.js';
import { jsonInputs } from './model/requests.js';
import { modelPath, type Subject } from './model/subject.js';
import { countOf } from './model/tensors.js';
import { postPatiently } from './patience.js';
import { plain } from './plain.js';
import type { Endpoint } from './wire/endpoint.js';
import { isObject } from './wire/http-answer.js';
import { HttpClient } from './wire/http-client.js';
import { ConnectError, NoAnswer } from './wire/http-connection.js';
import { Transcript } from './wire/transcript.js';

interface Discovery {
  readonly subject: Subject;
  readonly server: string;
  readonly extensions: readonly string[];
}

/** So many models of a long list are looked at. */
const MOST_MODELS = 30;
/** No model that is named may have larger inputs: they are made, and several times as large as JSON. */
const MOST_ELEMENTS_OF_NAMED = 5_000_000;
/** Models with larger inputs make every case slow. */
const MOST_ELEMENTS = 1_000_000;
/** Among models with no more, what can be asked of them counts first. */
const FEW_ELEMENTS = 10_000;

/**
 * Finds a model to ask: the one that is named, or of those that the server lists and that answer a small one that most
 * cases can be asked with. Throws `E_SERVER` if there is no server, or no such model.
 */
export async function discover(endpoint: Endpoint, named: string | undefined): Promise<Discovery> {
  const http = new HttpClient(endpoint, new Transcript());
  const server = await http.get('/v2').then(readServer).catch(unknownServer(endpoint));
  const names = named === undefined ? await listed(http) : [named];
  if (names.length === 0) throw noModel(endpoint, 'it does not list its models: name one with --model');
  const problems: string[] = [];
  const candidates: Subject[] = [];
  for (const name of names.slice(0, MOST_MODELS)) {
    try {
      const metadata = readModel(await http.get(modelPath(name)));
      candidates.push(...subjectsOf(name, metadata, await lengthOf(http, name, metadata)));
    } catch (error) {
      problems.push(`${plain(name, 40)}: ${reasonOf(error)}`);
    }
  }
  candidates.sort((a, b) => rankOf(a) - rankOf(b) || elementsIn(a) - elementsIn(b));
  const mostElements = named === undefined ? MOST_ELEMENTS : MOST_ELEMENTS_OF_NAMED;
  for (const subject of candidates.filter((each) => elementsIn(each) <= mostElements)) {
    const problem = await problemOf(http, subject);
    if (problem === null) return { subject, ...server };
    problems.push(`${plain(subject.name, 40)}: ${problem}`);
  }
  throw noModel(endpoint, problems.slice(0, 3).join('; ') || 'the inputs of all are too large');
}

/** With each kind of integers that its inputs may be made of. */
function subjectsOf(name: string, metadata: ReturnType<typeof readModel>, length: number): Subject[] {
  const unknown = metadata.inputs.find((input) => !canBeMade(input));
  if (unknown !== undefined)
    throw new Finding('fail', `its input ${unknown.name} is of type ${unknown.datatype}`);
  if (metadata.inputs.length === 0) throw new Finding('fail', 'its metadata lists no inputs');
  const hasIntegers = metadata.inputs.some(({ datatype }) => !datatype.startsWith('FP'));
  const kinds = hasIntegers ? INTEGERS : INTEGERS.slice(0, 1);
  return kinds.map((integers) => ({ ...metadata, name, integers, length }));
}

/** The shortest length that the model takes: the first bucket if its configuration lists them, or else 1. */
async function lengthOf(
  http: HttpClient,
  name: string,
  { inputs }: ReturnType<typeof readModel>,
): Promise<number> {
  if (!hasLength(inputs)) return 1;
  const answer = await http.get(`${modelPath(name)}/config`).catch(() => null);
  const lengths = answer?.status === 200 ? lengthsOf(answer.json()) : null;
  return lengths?.buckets[0] ?? 1;
}

/** Why it cannot be asked; null: it can. */
async function problemOf(http: HttpClient, subject: Subject): Promise<string | null> {
  try {
    const inputs = jsonInputs(makeInputs(subject.inputs, subject));
    outputsOfHttp(await postPatiently(http, modelPath(subject.name), { inputs }));
    return null;
  } catch (error) {
    return reasonOf(error);
  }
}

/** Names of models: of the repository's index, or else of the list that some servers have. */
async function listed(http: HttpClient): Promise<string[]> {
  const index = await http.post('/v2/repository/index', {}).catch(() => null);
  const ready =
    index?.status === 200
      ? asList(index.json())
          .filter(isReady)
          .map(({ name }) => name)
      : [];
  const found = ready.filter((name) => typeof name === 'string');
  if (found.length > 0) return [...new Set(found)];
  const list = await http.get('/v2/models').catch(() => null);
  if (list?.status !== 200) return [];
  const value = list.json();
  const models = Array.isArray(value)
    ? value
    : isObject(value) && Array.isArray(value.models)
      ? value.models
      : [];
  return models
    .map((each: unknown) => (isObject(each) ? each.name : each))
    .filter((name) => typeof name === 'string');
}

function asList(value: unknown): Readonly<Record<string, unknown>>[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}

function isReady({ state }: Readonly<Record<string, unknown>>): boolean {
  return state === undefined || state === '' || state === 'READY';
}

/** How many kinds of cases cannot be asked with a model; more for one that makes all of them slow. */
function rankOf(subject: Subject): number {
  const { inputs, outputs } = subject;
  const hasBatch = [...inputs, ...outputs].every(({ shape }) => shape[0] === -1);
  const hasFixedSize = inputs.some(({ shape }) => shape.some((size) => size > 0));
  const hasClasses = outputs.some(
    ({ datatype, shape }) => datatype !== 'BYTES' && shape.length > 0 && shape.at(-1)! > 1,
  );
  const met = [hasBatch, hasFixedSize, hasClasses, inputs.length > 1];
  return met.filter((is) => !is).length + (elementsIn(subject) > FEW_ELEMENTS ? met.length + 1 : 0);
}

function elementsIn({ inputs }: Subject): number {
  return inputs.reduce((sum, { shape }) => sum + Math.abs(countOf(shape)), 0);
}

function unknownServer({ url }: Endpoint): (error: unknown) => never {
  return (error) => {
    if (error instanceof ConnectError) {
      const why = plain(error.message) + protocolHint(url.href, error.message);
      throw new EscapementError('E_SERVER', `${url.origin} cannot be reached: ${why}`);
    }
    const reason = reasonOf(error);
    const wantsToken = /status is 40[13]/.test(reason);
    const hint = wantsToken ? '; pass a file with its token to --token-file' : protocolHint(url.href, reason);
    throw undescribed(url, reason, hint);
  };
}

function noModel({ url }: Endpoint, why: string): EscapementError {
  const isBusy = /status is (429|503|504)/.test(why);
  const advice = isBusy
    ? ': the server has no time for them, so give it a longer SLO, or ask while it has less to do'
    : '';
  return new EscapementError(
    'E_SERVER',
    `${url.origin} has no model that can be asked: ${plain(why)}${advice}`,
  );
}

function reasonOf(error: unknown): string {
  if (error instanceof Finding) return error.reason;
  if (error instanceof ConnectError || error instanceof NoAnswer) return error.message;
  throw error;
}
