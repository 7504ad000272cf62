import type { Attack } from '../target.js';
import { ACCESS_ATTACKS } from './access.js';
import { GRPC_ATTACKS } from './grpc.js';
import { HTTP_ATTACKS } from './http.js';

export const ATTACKS: readonly Attack[] = [...HTTP_ATTACKS, ...GRPC_ATTACKS, ...ACCESS_ATTACKS];
