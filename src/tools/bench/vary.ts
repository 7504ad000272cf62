import { usageError } from '../../base/errors.js';
import { suggestion } from '../../base/nearest.js';
import { describeKeys } from '../../config/keys.js';

/** One key and its values, in order. */
export interface Vary {
  readonly key: string;
  readonly values: readonly string[];
}

/** Key for the number of GPUs, which is not a setting of a server. */
export const GPUS = 'gpus';
/** Limit that keeps a typo from occupying the machine for hours. */
const MOST_GPUS = 1024;

const SECTIONS = ['runtime.', 'policy.'];
const PLAIN = ['slo', 'admission'];

/** Parses `KEY=v1,v2,…`. Throws `E_USAGE` for anything else, and for keys that no stage depends on. */
export function parseVary(text: string): Vary {
  const problem = (what: string) => usageError(`--vary ${text}: ${what}`);
  const [, key = '', list = ''] = /^\s*([^=\s]+)\s*=(.*)$/s.exec(text) ?? [];
  if (key === '') throw problem('write KEY=v1,v2, e.g. --vary runtime.intraOpThreads=1,2');
  const known = variableKeys();
  if (!known.includes(key)) throw problem(`no stage depends on ${key}: ${suggestion(key, known)}`);
  const values = list.split(',').map((value) => value.trim());
  if (values.includes('')) throw problem('a value is empty');
  if (new Set(values).size < values.length) throw problem('duplicate value');
  if (key === GPUS && values.some((value) => !/^[1-9]\d*$/.test(value) || Number(value) > MOST_GPUS))
    throw problem(`${GPUS} is a whole number from 1 to ${MOST_GPUS}`);
  return { key, values };
}

/** All keys that may be varied. */
export function variableKeys(): string[] {
  const keys = describeKeys().map(({ key }) => key);
  const used = keys.filter(
    (key) => PLAIN.includes(key) || SECTIONS.some((section) => key.startsWith(section)),
  );
  return [GPUS, 'policy.kind', ...new Set(used)];
}
