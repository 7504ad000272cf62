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

/** The parameters of a whole request. Throws an `ApiError` for those that would have an effect that there is not. */
export function requestParameters(given: unknown, classes: readonly PriorityClass[]): Json {
  const parameters = optionalObject(given, 'parameters');
  for (const name in parameters) checkRequestParameter(name, parameters[name], classes);
  return parameters;
}

/**
 * Throws an `ApiError` for a parameter that this server does not know, or that asks for what it cannot do: to ignore it in
 * silence would be a lie.
 */
function checkRequestParameter(name: string, value: unknown, classes: readonly PriorityClass[]): void {
  switch (name) {
    case 'slo_ms':
    case 'timeout':
    case 'binary_data_output':
    // Codecs of other servers' clients describe contents with these; they change nothing here.
    case 'content_type':
    case 'headers':
    // What its values mean is up to the server's classes.
    case 'priority':
      return;
    case 'sequence_id':
    case 'sequence_start':
    case 'sequence_end':
      if (!isNothing(value))
        throw new ApiError(
          'invalid',
          `parameter ${name}: models with state between requests are not supported`,
        );
      return;
    default: {
      const known = hasPriorities(classes) ? 'slo_ms, timeout and priority' : 'slo_ms and timeout';
      const hint = MEANS_SLO.test(name) ? 'did you mean slo_ms?' : `a request may have ${known}`;
      throw new ApiError('invalid', `parameter ${shown(name)} is not supported; ${hint}`);
    }
  }
}

/** Names under which clients try to send an SLO. */
const MEANS_SLO = /^(slo|deadline|latency)/i;

/** A parameter that is true or false; absent: false. Throws an `ApiError`. */
export function booleanParameter(parameters: Json, name: string): boolean {
  const value = parameters[name];
  if (value === undefined || value === null) return false;
  if (typeof value === 'boolean') return value;
  throw new ApiError('invalid', `parameter ${name}: expected true or false, got ${shown(value)}`);
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
  for (let i = 0; i < classes.length; i++) {
    if (classes[i].priorities.includes(value as number)) return i;
  }
  const expected = hasPriorities(classes)
    ? `expected one of ${prioritiesOf(classes)}`
    : 'this server has no classes: send 0 or none, and slo_ms to say how urgent a request is';
  throw new ApiError('invalid', `parameter priority: ${expected}, got ${shown(priority)}`);
}

/** True if clients can ask for a class. */
function hasPriorities(classes: readonly PriorityClass[]): boolean {
  return classes.some(({ priorities }) => priorities.length > 0);
}

/** `0, 1 (gold), 8, 9 (batch-jobs)`: the values of each class, in order of the smallest. */
function prioritiesOf(classes: readonly PriorityClass[]): string {
  const named = classes
    .filter(({ priorities }) => priorities.length > 0)
    .map(({ name, priorities }) => ({ name, values: [...priorities].sort((a, b) => a - b) }))
    .sort((a, b) => a.values[0] - b.values[0]);
  const texts = named.slice(0, MOST_SHOWN).map(({ name, values }) => {
    const rest = values.length > MOST_SHOWN ? ', …' : '';
    return `${values.slice(0, MOST_SHOWN).join(', ')}${rest} (${name})`;
  });
  return ['0', ...texts, ...(named.length > MOST_SHOWN ? ['…'] : [])].join(', ');
}

const MOST_SHOWN = 10;

/** Values that clients send where they mean none. */
function isNothing(value: unknown): boolean {
  return value === 0 || value === 0n || value === '' || value === false || value === null;
}

/** Bytes of an input that follows as binary data; −1: it does not. Throws an `ApiError`. */
export function binarySize(given: unknown, input: string): number {
  if (given === undefined || given === null) return -1;
  const { binary_data_size: size } = parametersOf(given, 'input', input, 'binary_data_size');
  if (size === undefined || size === null) return -1;
  if (Number.isSafeInteger(size) && (size as number) >= 0) return size as number;
  throw new ApiError(
    'invalid',
    `input ${shown(input)}: binary_data_size: expected a number of bytes, got ${shown(size)}`,
  );
}

/** Form in which an output is wanted. Throws an `ApiError`. */
export function outputParameters(
  given: unknown,
  output: string,
  binaryByDefault: boolean,
): { readonly binary: boolean; readonly classes: number } {
  const parameters = parametersOf(given, 'output', output, 'classification');
  const { binary_data: binary, classification: classes = null } = parameters;
  if (binary !== undefined && binary !== null && typeof binary !== 'boolean')
    throw new ApiError(
      'invalid',
      `output ${shown(output)}: binary_data: expected true or false, got ${shown(binary)}`,
    );
  if (classes !== null && !(Number.isSafeInteger(classes) && (classes as number) >= 0))
    throw new ApiError(
      'invalid',
      `output ${shown(output)}: classification: expected a number of classes, got ${shown(classes)}`,
    );
  return { binary: (binary as boolean | null) ?? binaryByDefault, classes: (classes as number | null) ?? 0 };
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
