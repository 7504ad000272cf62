import type { ConformCase } from '../case.js';
import { BINARY } from './binary.js';
import { ERRORS } from './errors.js';
import { HTTP_CORE, HTTP_INFERENCE } from './http-core.js';

/** Every case, in the order they run. */
export const ALL_CASES: readonly ConformCase[] = [...HTTP_CORE, ...HTTP_INFERENCE, ...ERRORS, ...BINARY];
