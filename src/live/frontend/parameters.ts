import { NS_PER_HOUR, NS_PER_MS, NS_PER_US } from '../../base/units.js';
import type { ServedModel } from '../model.js';
import { ApiError, shown } from './api-error.js';
import { isObject, type Json, objectOf, optionalObject } from './json.js';

/** A class of requests as frontends know it. Plain data. */
export interface PriorityClass {
  readonly name: string;
  /** Values of the protocol's `priority` that mean it. */
  readonly priorities: readonly number[];
}

/** Parameters of a request. Those without a meaning here describe contents to other servers. */
const KNOWN = new Set(['slo_ms', 'timeout', 'priority', 'binary_data_output', 'content_type', 'headers']);
const OF_SEQUENCES = new Set(['sequence_id', 'sequence_start', 'sequence_end']);
/** Names under which clients try to send an SLO. */
const MEANS_SLO = /^(slo|deadline|latency)/i;

/**
 * The parameters of a whole request. Throws an `ApiError` for one that this server does not know, or that asks for what it cannot do:
 * to ignore it in silence would be a lie.
 */
export function requestParameters(given: unknown, classes: readonly PriorityClass[]): Json {
  const parameters = optionalObject(given, 'parameters');
  for (const name in parameters) {
    if (KNOWN.has(name)) continue;
    if (OF_SEQUENCES.has(name)) {
      if (isNothing(parameters[name])) continue;
      const why = 'models with state between requests are not supported';
      throw new ApiError('invalid', `parameter ${name}: ${why}`);
    }
    const known = hasPriorities(classes) ? 'slo_ms, timeout and priority' : 'slo_ms and timeout';
    const hint = MEANS_SLO.test(name) ? 'did you mean slo_ms?' : `a request may have ${known}`;
    throw new ApiError('invalid', `parameter ${shown(name)} is not supported; ${hint}`);
  }
  return parameters;
}

/** A value that clients may leave out, null: absent. Throws an `ApiError` if it is not `expected`. */
function optional<T>(
  value: unknown,
  is: (value: unknown) => boolean,
  what: string,
  expected: string,
): T | null {
  if (value === undefined || value === null) return null;
  if (is(value)) return value as T;
  throw new ApiError('invalid', `${what}: expected ${expected}, got ${shown(value)}`);
}

const isBoolean = (value: unknown) => typeof value === 'boolean';
const isCount = (value: unknown) => Number.isSafeInteger(value) && (value as number) >= 0;

/** A parameter that is true or false; absent: false. Throws an `ApiError`. */
export function booleanParameter(parameters: Json, name: string): boolean {
  return optional<boolean>(parameters[name], isBoolean, `parameter ${name}`, 'true or false') ?? false;
}

/** A day: more than any client waits, and far from where times stop being exact. */
const MOST_NS = 24 * NS_PER_HOUR;

/**
 * SLO of one call, ns: its parameter `slo_ms`, or `timeout` in µs, or the model's, or the server's. Null is as if
 * absent, and so is a `timeout` of 0, which clients send by default. Throws an `ApiError` where a parameter is no such time.
 */
export function requestSloNs(
  { slo_ms: sloMs, timeout: timeoutUs }: Json,
  model: ServedModel,
  defaultSloNs: number,
): number {
  if (sloMs !== undefined && sloMs !== null) return checkedNs('slo_ms', sloMs, NS_PER_MS);
  if (timeoutUs !== undefined && timeoutUs !== null && timeoutUs !== 0)
    return checkedNs('timeout', timeoutUs, NS_PER_US);
  return model.sloNs ?? defaultSloNs;
}

function checkedNs(parameter: string, value: unknown, unitNs: number): number {
  const ns = typeof value === 'number' ? Math.round(value * unitNs) : 0;
  if (ns >= 1 && ns <= MOST_NS) return ns;
  throw new ApiError(
    'invalid',
    `parameter ${parameter}: expected a number above 0 and up to ${MOST_NS / unitNs}, got ${shown(value)}`,
  );
}

/**
 * Index of the class that the protocol's parameter `priority` means; without one, and for 0, which clients send by
 * default, it is the first. Throws an `ApiError` for a value that means no class of this server.
 */
export function classOfPriority(priority: unknown, classes: readonly PriorityClass[]): number {
  if (priority === undefined || isNothing(priority)) return 0;
  const value = typeof priority === 'bigint' ? Number(priority) : priority;
  const index = classes.findIndex(({ priorities }) => priorities.includes(value as number));
  if (index >= 0) return index;
  const expected = hasPriorities(classes)
    ? `expected one of ${prioritiesOf(classes)}`
    : 'this server has no classes: send 0 or none, and slo_ms to say how urgent a request is';
  throw new ApiError('invalid', `parameter priority: ${expected}, got ${shown(priority)}`);
}

/** True if clients can ask for a class. */
function hasPriorities(classes: readonly PriorityClass[]): boolean {
  return classes.some(({ priorities }) => priorities.length > 0);
}

/** `0, 1 (gold), 8, 9 (batch-jobs)`: the values of each class. */
function prioritiesOf(classes: readonly PriorityClass[]): string {
  const texts = classes
    .filter(({ priorities }) => priorities.length > 0)
    .map(({ name, priorities }) => `${priorities.join(', ')} (${name})`);
  return ['0', ...texts].join(', ');
}

/** Values that clients send where they mean none. */
function isNothing(value: unknown): boolean {
  return value === 0 || value === 0n || value === '' || value === false || value === null;
}

/** Bytes of an input that follows as binary data; −1: it does not. Throws an `ApiError`. */
export function binarySize(given: unknown, input: string): number {
  if (given === undefined || given === null) return -1;
  const { binary_data_size: size } = parametersOf(given, 'input', input, 'binary_data_size');
  return (
    optional<number>(size, isCount, `input ${shown(input)}: binary_data_size`, 'a number of bytes') ?? -1
  );
}

/** Form in which an output is wanted. Throws an `ApiError`. */
export function outputParameters(
  given: unknown,
  output: string,
  binaryByDefault: boolean,
): { readonly binary: boolean; readonly classes: number } {
  const { binary_data: binary, classification } = parametersOf(given, 'output', output, 'classification');
  const where = `output ${shown(output)}`;
  return {
    binary: optional<boolean>(binary, isBoolean, `${where}: binary_data`, 'true or false') ?? binaryByDefault,
    classes:
      optional<number>(classification, isCount, `${where}: classification`, 'a number of classes') ?? 0,
  };
}

/**
 * The parameters of a tensor. Throws an `ApiError` for one other than `known` that is not about its contents alone: shared
 * memory and the like change what a tensor means, and cannot be passed over.
 */
function parametersOf(given: unknown, side: 'input' | 'output', tensor: string, known: string): Json {
  const parameters = isObject(given) ? given : objectOf(given, `${side} ${shown(tensor)}: parameters`);
  for (const name in parameters) {
    if (name === known || name === 'content_type' || name === 'binary_data') continue;
    const supported = side === 'input' ? known : `binary_data and ${known}`;
    throw new ApiError(
      'invalid',
      `${side} ${shown(tensor)}: parameter ${shown(name)} is not supported, only ${supported}`,
    );
  }
  return parameters;
}
