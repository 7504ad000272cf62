// Entry of the thread of links.
import { parentPort, workerData } from 'node:worker_threads';
import { invariant } from '../../../base/invariant.js';
import { passOnWarnings } from '../../warnings.js';
import { REAL_WORLD } from '../../world/real-world.js';
import { runCalls } from './call-thread.js';

passOnWarnings('links');
invariant(parentPort !== null, 'this file is the entry of a thread');
runCalls(REAL_WORLD, parentPort, workerData);
