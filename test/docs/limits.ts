import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { GIB, KIB, MIB } from '../../src/base/units.js';
import { ROOT } from '../snippets.js';
import { markdownTable } from './markdown.js';

/** Limits that are not flags: what is limited, and the constant or default that holds the number. */
const LIMITS: readonly (readonly [what: string, file: string, constant: string])[] = [
  ['connections to the metrics port', 'observe/telemetry/metrics-server.ts', 'MOST_CONNECTIONS'],
  ['connections to a worker', 'worker/endpoint/worker-endpoint.ts', 'MOST_CONNECTIONS'],
  ['either, without request or token', 'wire/guarded-port.ts', 'PROBATION_MS'],
  ['connections for registration', 'controller/registration/registration-endpoint.ts', 'MOST_CONNECTIONS'],
  [
    'messages per second of a registered worker',
    'controller/registration/registration-endpoint.ts',
    'MOST_PER_SECOND',
  ],
  ['registered workers', 'controller/registration/registrations.ts', 'MOST_REGISTERED'],
  ['registered workers dialed at once', 'controller/fleet.ts', 'MOST_DIALED'],
  [
    'registered workers of one host, if none has joined',
    'controller/registration/registrations.ts',
    'MOST_OF_HOST',
  ],
  ['text of a message to a worker, or of a registration', 'wire/protocol.ts', 'MOST_TEXT_BYTES'],
  ['text of a message of a worker', 'wire/protocol.ts', 'MOST_DESCRIPTION_BYTES'],
  ['size of a config.pbtxt', 'models/config-pbtxt.ts', 'MOST_BYTES'],
];

export function limitsTable(): string {
  return markdownTable(
    ['limit', 'value'],
    LIMITS.map(([what, file, name]) => [what, shownValue(file, name)]),
  );
}

/** The value of a constant or default as a reader writes it, by its unit. Fails where the source has none. */
function shownValue(file: string, name: string): string {
  const source = readFileSync(join(ROOT, 'src/live', file), 'utf8');
  const text = new RegExp(`const ${name} = ([^;]+);|^    ${name}: ([^,]+),$`, 'm')
    .exec(source)
    ?.slice(1)
    .find(Boolean);
  if (text === undefined) throw new Error(`src/live/${file} has no ${name}`);
  const units: Readonly<Record<string, number>> = { KIB, MIB, GIB };
  const value = text
    .split('*')
    .map((factor) => units[factor.trim()] ?? Number(factor.trim().replaceAll('_', '')))
    .reduce((product, factor) => product * factor, 1);
  if (!Number.isFinite(value))
    throw new Error(`${name} of src/live/${file} is ${text}, which is not understood`);
  if (/(?:Ms|_MS)$/.test(name)) return `${value / 1000} s`;
  if (/BYTES|RATE/.test(name)) return value % MIB === 0 ? `${value / MIB} MiB` : `${value / KIB} KiB`;
  return value.toLocaleString('en-US');
}
