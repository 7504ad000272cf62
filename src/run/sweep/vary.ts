import { EscapementError } from '../../base/errors.js';
import { type CaseAxis, seedList, variedValues } from '../../config/sweep-section.js';
import { validate } from '../../config/validate.js';
import type { VariedKey } from '../../record/results.js';

/** Parses one `--vary key=values`, e.g. `slo=10ms,25ms` or `policy.scheduleAhead=1ms:20ms:1ms`. Throws `E_USAGE`. */
export function parseVary(text: string): VariedKey {
  const split = text.indexOf('=');
  if (split <= 0 || split === text.length - 1) {
    throw new EscapementError('E_USAGE', `--vary ${text}: write key=values, e.g. --vary slo=10ms,25ms,50ms`);
  }
  const key = text.slice(0, split).trim();
  if (key === 'seed')
    throw new EscapementError('E_USAGE', `--vary ${text}: seeds are varied with --seeds 1,2,3`);
  const place = { flag: `--vary ${key}` };
  return { key, values: validate(variedValues, text.slice(split + 1), { placeOf: () => place }, 'E_USAGE') };
}

/** Parses all `--vary` flags. Throws `E_USAGE` if a key is given twice. */
export function parseVaryFlags(texts: readonly string[]): VariedKey[] {
  const vary = texts.map(parseVary);
  const keys = vary.map(({ key }) => key);
  const twice = keys.find((key, i) => keys.indexOf(key) !== i);
  if (twice !== undefined) {
    throw new EscapementError('E_USAGE', `--vary ${twice} is given twice: put all its values into one list`);
  }
  return vary;
}

/** Axes of a sweep. */
interface SweepAxes {
  readonly cases: readonly CaseAxis[];
  readonly vary: readonly VariedKey[];
}

/**
 * Axes of a file's sweep section after `--vary`: a flag that names an axis of cases picks some of them, and other flags
 * replace all varied keys of the file. Throws `E_USAGE` for an unknown case.
 */
export function chooseAxes(
  texts: readonly string[],
  { cases, vary }: SweepAxes = { cases: [], vary: [] },
): SweepAxes {
  const namesOf = ({ key }: CaseAxis) =>
    texts.filter((text) => text.startsWith(`${key}=`)).map((text) => text.slice(key.length + 1));
  const others = texts.filter((text) => !cases.some(({ key }) => text.startsWith(`${key}=`)));
  return {
    cases: cases.map((axis) => pickCases(axis, namesOf(axis))),
    vary: others.length === 0 ? vary : parseVaryFlags(others),
  };
}

/** Each list holds one name, or several separated by commas. */
function pickCases(axis: CaseAxis, lists: readonly string[]): CaseAxis {
  if (lists.length === 0) return axis;
  const named = (name: string) => axis.cases.find((one) => one.name === name);
  const names = lists
    .map((list) => list.trim())
    .flatMap((list) => (named(list) === undefined ? list.split(',').map((name) => name.trim()) : [list]));
  const cases = [...new Set(names)].map((name) => {
    const found = named(name);
    if (found !== undefined) return found;
    const known = axis.cases.map((one) => one.name).join('; ');
    throw new EscapementError(
      'E_USAGE',
      `--vary ${axis.key}: there is no case "${name}"; there are: ${known}`,
    );
  });
  return { ...axis, cases };
}

/** Parses `--seeds`: a list or range of whole numbers. Throws `E_USAGE`. */
export function parseSeeds(text: string): readonly number[] {
  return validate(seedList, text, { placeOf: () => ({ flag: '--seeds' }) }, 'E_USAGE');
}
