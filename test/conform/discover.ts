import { hasLength, lengthsOf } from '../../src/load/description.js';
import { plain } from './case.js';
import { MODEL_METADATA, SERVER_METADATA } from './cases/http.js';
import { parse } from './columns.js';
import type { Endpoint, Loose } from './http.js';
import { countOf, INTEGERS, isDatatype, outputsOfHttp } from './tensors.js';
import { type Known, MODEL, type Model, Trial } from './trial.js';

interface Discovery {
  readonly model: Model;
  /** Name and version, as the server calls itself. */
  readonly server: string;
  readonly extensions: readonly string[];
}

/** So many models of a long list are looked at. */
const MOST_MODELS = 30;
/** Inputs with more elements make every case slow. */
const MOST_ELEMENTS = 1_000_000;
/** Among models with no more, what can be asked of them counts first. */
const FEW_ELEMENTS = 10_000;

/**
 * Finds a model to ask: the one that is named, or of those that the server lists and that answer a small one that most
 * cases can be asked with. Throws if there is no server, or no such model.
 */
export async function discover(endpoint: Endpoint, known: Known, named?: string): Promise<Discovery> {
  const trialOf = (model: Partial<Model>) => new Trial(endpoint, { name: '', ...model } as Model, known);
  const server = parse(await trialOf({}).http('GET', '/v2'), SERVER_METADATA);
  const names = named === undefined ? await listed(trialOf({})) : [named];
  const problems: string[] = [];
  const candidates: Model[] = [];
  for (const name of names.slice(0, MOST_MODELS))
    await candidatesOf(trialOf({ name, version: null })).then(
      (models) => candidates.push(...models),
      (error: Error) => problems.push(`${name}: ${error.message}`),
    );
  candidates.sort((a, b) => rankOf(a) - rankOf(b) || elementsIn(a) - elementsIn(b));
  for (const model of candidates) {
    try {
      outputsOfHttp(await trialOf(model).infer());
      return { model, server: plain(`${server.name} ${server.version}`), extensions: server.extensions };
    } catch (error) {
      problems.push(`${model.name}: ${(error as Error).message}`);
    }
  }
  const why = problems.slice(0, 3).join('; ') || 'it lists none; name one with --model';
  throw new Error(`${endpoint.url.origin} has no model that can be asked: ${plain(why)}`);
}

/** Names of models: of the repository's index, or else of the list that some servers have. */
async function listed(t: Trial): Promise<string[]> {
  const read = async (method: string, path: string, body?: object): Promise<Loose[]> => {
    const answer = await t.http(method, path, { body }).catch(() => null);
    const value = answer?.status === 200 ? answer.json() : [];
    return value.models ?? value;
  };
  const index = await read('POST', '/v2/repository/index', {});
  const ready = index.filter(({ state = '' }) => state === '' || state === 'READY');
  const list = ready.length > 0 ? ready : await read('GET', '/v2/models');
  return [...new Set(list.map((each) => each.name ?? each))];
}

/** A model with each kind of integers that its inputs may be made of. */
async function candidatesOf(t: Trial): Promise<Model[]> {
  const metadata = parse(await t.http('GET', MODEL), MODEL_METADATA);
  const { versions, inputs } = metadata;
  const unknown = inputs.find(({ datatype }) => !isDatatype(datatype));
  if (unknown !== undefined) throw new Error(`its input ${unknown.name} is of type ${unknown.datatype}`);
  if (inputs.length === 0) throw new Error('its metadata lists no inputs');
  if (elementsIn(metadata) > MOST_ELEMENTS) throw new Error('its inputs are too large');
  // The shortest length that it takes: the first bucket of its configuration.
  const config = hasLength(inputs) ? await t.http('GET', `${MODEL}/config`).catch(() => null) : null;
  const length = (config?.status === 200 && lengthsOf(config.json())?.buckets[0]) || 1;
  const kinds = inputs.every(({ datatype }) => datatype.startsWith('FP')) ? INTEGERS.slice(0, 1) : INTEGERS;
  const model = { ...metadata, name: t.model.name, version: versions.at(-1) ?? null, length };
  return kinds.map((integers) => ({ ...model, integers }));
}

/** How many kinds of cases cannot be asked with a model; more for one that makes all of them slow. */
function rankOf(model: Model): number {
  const { inputs, outputs } = model;
  const met = [
    [...inputs, ...outputs].every(({ shape }) => shape[0] === -1),
    inputs.some(({ shape }) => shape.some((size) => size > 0)),
    outputs.some(({ datatype, shape }) => datatype !== 'BYTES' && (shape.at(-1) ?? 0) > 1),
    inputs.length > 1,
  ];
  return met.filter((is) => !is).length + (elementsIn(model) > FEW_ELEMENTS ? met.length + 1 : 0);
}

function elementsIn({ inputs }: Pick<Model, 'inputs'>): number {
  return inputs.reduce((sum, { shape }) => sum + Math.abs(countOf(shape)), 0);
}
