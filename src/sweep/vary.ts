import { EscapementError } from '../core/errors.js';
import { expandValues } from '../experiment/units-text.js';
import type { VariedKey } from '../metrics/results.js';

/** Reads one `--vary key=values`, e.g. `slo=10ms,25ms` or `policy.scheduleAhead=1ms:20ms:1ms`. Throws `E_USAGE`. */
export function parseVary(text: string): VariedKey {
  const split = text.indexOf('=');
  if (split <= 0 || split === text.length - 1) {
    throw new EscapementError('E_USAGE', `--vary ${text}: write key=values, e.g. --vary slo=10ms,25ms,50ms`);
  }
  const key = text.slice(0, split).trim();
  if (key === 'seed')
    throw new EscapementError('E_USAGE', `--vary ${text}: seeds are varied with --seeds 1,2,3`);
  return { key, values: listedValues(text.slice(split + 1), `--vary ${key}`) };
}

/** Reads all `--vary` flags. Throws `E_USAGE` where a key is given twice. */
export function parseVaryFlags(texts: readonly string[]): VariedKey[] {
  const vary = texts.map(parseVary);
  const keys = vary.map(({ key }) => key);
  const twice = keys.find((key, i) => keys.indexOf(key) !== i);
  if (twice !== undefined) {
    throw new EscapementError('E_USAGE', `--vary ${twice} is given twice: put all its values into one list`);
  }
  return vary;
}

/** Reads `--seeds`: a list or range of whole numbers. Throws `E_USAGE`. */
export function parseSeeds(text: string): number[] {
  const seeds = listedValues(text, '--seeds').map(Number);
  if (seeds.length === 0 || !seeds.every((seed) => Number.isSafeInteger(seed) && seed >= 0)) {
    throw new EscapementError(
      'E_USAGE',
      `--seeds ${text}: write whole numbers, e.g. --seeds 1,2,3 or --seeds 1:5:1`,
    );
  }
  return seeds;
}

/** Values of a list or range, each once. A mistake is one of usage: it stands on the command line. */
function listedValues(text: string, flag: string): string[] {
  try {
    return [...new Set(expandValues(text))];
  } catch (error) {
    if (error instanceof EscapementError) throw new EscapementError('E_USAGE', `${flag}: ${error.message}`);
    throw error;
  }
}
