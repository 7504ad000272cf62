// Entry of a thread that reads recordings: onnxruntime writes about 650 bytes per operator.
import { readFileSync } from 'node:fs';
import { parentPort, workerData } from 'node:worker_threads';
import { invariant } from '../../../base/invariant.js';
import { type ReadOperators, tableOf } from '../../operator-table.js';
import { passOnWarnings } from '../../warnings.js';
import { collectOperators } from './collect-operators.js';
import type { RecordedReport } from './protocol.js';

passOnWarnings('operator-reader');
invariant(parentPort !== null, 'this file is the entry of a thread');
const reports = workerData as readonly RecordedReport[];
const { operators, dropped } = collectOperators(reports, (path) => readFileSync(path, 'utf8'));
parentPort.postMessage({ table: tableOf(operators), dropped } satisfies ReadOperators);
