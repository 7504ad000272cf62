import { ApiError, shown } from './api-error.js';
import { isObject, type Json, objectOf, optionalObject } from './json.js';
import { hasPriorities, isNothing, type PriorityClass } from './priority.js';

/** The parameters of a whole request. Throws an `ApiError` for those that would have an effect that there is not. */
export function requestParameters(given: unknown, classes: readonly PriorityClass[]): Json {
  const parameters = optionalObject(given, 'parameters');
  for (const name in parameters) checkRequestParameter(name, parameters[name], classes);
  return parameters;
}

/**
 * Throws an `ApiError` for a parameter that this server does not know, or that asks for what it cannot do: to ignore it in
 * silence would be a lie. The same for both transports.
 */
export function checkRequestParameter(name: string, value: unknown, classes: readonly PriorityClass[]): void {
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

/** Role of a tensor of a request. */
export type TensorSide = 'input' | 'output';

/** Bytes of an input that follows as binary data; −1: it does not. Throws an `ApiError`. */
export function binarySize(given: unknown, input: string): number {
  if (given === undefined || given === null) return -1;
  const parameters = parametersOf(given, 'input', input);
  for (const name in parameters) {
    if (name === 'binary_data_size' || isHarmlessParameter(name)) continue;
    throw unsupportedParameter('input', input, name, 'binary_data_size');
  }
  const { binary_data_size: size } = parameters;
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
  const parameters = parametersOf(given, 'output', output);
  for (const name in parameters) {
    if (name === 'classification' || isHarmlessParameter(name)) continue;
    throw unsupportedParameter('output', output, name, 'binary_data and classification');
  }
  const { binary_data: binary, classification: classes } = parameters;
  if (binary !== undefined && binary !== null && typeof binary !== 'boolean')
    throw new ApiError(
      'invalid',
      `output ${shown(output)}: binary_data: expected true or false, got ${shown(binary)}`,
    );
  return { binary: (binary as boolean | null) ?? binaryByDefault, classes: classCount(classes, output) };
}

export function classCount(classes: unknown, output: string): number {
  if (classes === undefined || classes === null) return 0;
  if (Number.isSafeInteger(classes) && (classes as number) >= 0) return classes as number;
  throw new ApiError(
    'invalid',
    `output ${shown(output)}: classification: expected a number of classes, got ${shown(classes)}`,
  );
}

/** Parameters that describe a tensor's contents and change nothing. */
export function isHarmlessParameter(name: string): boolean {
  return name === 'content_type' || name === 'binary_data';
}

/** Shared memory and the like change what a tensor means: they cannot be passed over. `supported`: those that can be given. */
export function unsupportedParameter(
  side: TensorSide,
  tensor: string,
  name: string,
  supported: string,
): ApiError {
  const where = `${side} ${shown(tensor)}`;
  return new ApiError('invalid', `${where}: parameter ${shown(name)} is not supported, only ${supported}`);
}

/** The name is only written where it is needed: that costs more than all the rest here. */
function parametersOf(given: unknown, side: TensorSide, tensor: string): Json {
  return isObject(given) ? given : objectOf(given, `${side} ${shown(tensor)}: parameters`);
}
