import * as z from 'zod';
import type { ErrorPlace } from '../base/errors.js';
import type { VariedKey } from '../record/results.js';
import { isOverrideKey, type Path, type SourceDocument } from './document.js';
import { flag, refuse, refuseTwice, section, text, textField, textOrTexts } from './fields.js';
import { expandValues, show } from './units-text.js';

const LIST_OR_TEXT = { type: ['string', 'number', 'boolean', 'array'] };

/** Values of a key that varies. */
export const variedValues = textField(
  LIST_OR_TEXT,
  'Values: a range such as 1ms:20ms:1ms (end included), a list such as 10ms,25ms, or a YAML list.',
  readValues,
  textOrTexts,
);

/** Seeds of a sweep or plan. */
export const seedList = textField(
  LIST_OR_TEXT,
  'Each combination runs once with each seed, such as 1:3 or 1,2,3; default: the seed of the file.',
  readSeeds,
  textOrTexts,
);

function readValues(texts: string | readonly string[]): readonly string[] {
  return [...new Set([texts].flat().flatMap(expandValues))];
}

function readSeeds(texts: string | readonly string[]): readonly number[] {
  const parts = [texts].flat().flatMap((text) => text.split(','));
  const seeds = readValues(parts.map((part) => part.replace(/^\s*\d+\s*:\s*\d+\s*$/, '$&:1'))).map(Number);
  if (seeds.every((seed) => Number.isSafeInteger(seed) && seed >= 0)) return seeds;
  return refuse(`must be whole numbers such as 1:3 or 1,2,3, found ${show(texts)}`);
}

/** Overrides of a case. Whether their keys exist is known when an experiment is built with them. */
const overrides = z
  .record(z.string(), z.unknown())
  .superRefine((settings, context) => {
    for (const key of Object.keys(settings)) {
      const message = problemOf(key);
      if (message !== null) context.addIssue({ code: 'custom', path: [key], message, params: WRONG_KEY });
    }
  })
  .describe('Settings: dotted keys, each with its value or a whole section.');

const WRONG_KEY = { errorCode: 'E_CONFIG_KEY' };

/** Reason why a case cannot set this key. */
function problemOf(key: string): string | null {
  if (!isOverrideKey(key)) return `"${key}" is not a dotted key such as policy.maxBatch`;
  if (key === 'seed') return 'every case runs with the same seeds: give them in sweep.seeds or with --seeds';
  const section = /^(?:sweep|scenarios)(?=\.|$)/.exec(key);
  return section === null ? null : `is for all cases: set it in the ${section[0]} section itself`;
}

/** A name for several overrides: of an axis of cases, or of a scenario. */
export interface Case {
  readonly name: string;
  /** Section of the file with its overrides. */
  readonly path: Path;
  /** In the form of `--set`, with values in JSON. */
  readonly overrides: readonly string[];
}

function caseOf(name: string, path: Path, settings: z.output<typeof overrides>): Case {
  const texts = Object.entries(settings).map(([key, value]) => `${key}=${JSON.stringify(value)}`);
  return { name, path, overrides: texts };
}

/** An axis of a sweep whose values are names, each for several overrides. */
export interface CaseAxis {
  readonly key: string;
  readonly cases: readonly Case[];
}

/** `sweep`: axes of cases and keys in the order of the file; without seeds, that of the file. */
export const sweepSchema = section({
  cases: z
    .record(
      z.string(),
      z
        .record(z.string(), overrides)
        .refine((named) => Object.keys(named).length > 0, 'needs at least one case')
        .refine((named) => Object.keys(named).every((name) => name.trim() !== ''), 'a case needs a name'),
    )
    .prefault({})
    .describe(
      'Axes of named cases, e.g. setting; each case lists the keys that it sets, which are applied before vary.',
    ),
  vary: z
    .record(z.string(), variedValues)
    .prefault({})
    .describe('Dotted keys, e.g. policy.scheduleAhead, each with its values.'),
  seeds: seedList.exactOptional(),
  bound: flag('Also compute upper bounds on goodput, once for all policies of a workload.').default(false),
})
  .superRefine(({ cases, vary }, context) => {
    const message = 'is an axis of cases, all of which run: leave it out of vary';
    for (const key of Object.keys(vary))
      if (Object.hasOwn(cases, key))
        context.addIssue({ code: 'custom', path: ['vary', key], message, params: WRONG_KEY });
  })
  .transform(({ cases, vary, ...rest }) => ({
    ...rest,
    cases: Object.entries(cases).map(([key, named]): CaseAxis => {
      const own = Object.entries(named);
      return {
        key,
        cases: own.map(([name, settings]) => caseOf(name, ['sweep', 'cases', key, name], settings)),
      };
    }),
    vary: Object.entries(vary).map(([key, values]): VariedKey => ({ key, values })),
  }))
  .exactOptional();

/** `scenarios`, in the order of the file. */
export const scenariosSchema = z
  .array(
    section({
      name: text('Its name in results.'),
      overrides: overrides.refine((settings) => Object.keys(settings).length > 0, 'changes nothing'),
    }),
  )
  .min(1)
  .superRefine(refuseTwice)
  .transform((list) =>
    list.map(({ name, overrides }, i) => caseOf(name, ['scenarios', i, 'overrides'], overrides)),
  )
  .exactOptional();

/** The axes as keys that vary, for results. */
export function caseKeys(axes: readonly CaseAxis[]): VariedKey[] {
  return axes.map(({ key, cases }) => ({ key, values: cases.map(({ name }) => name) }));
}

/** The chosen case of each axis. */
export function chosenCases(axes: readonly CaseAxis[], chosen: Readonly<Record<string, string>>): Case[] {
  return axes.flatMap(({ key, cases }) => cases.find(({ name }) => name === chosen[key]) ?? []);
}

/** Place in the file of an override of a case; undefined for one of other texts. */
export function placeInCase(
  { path, overrides }: Case,
  override: string,
  source: SourceDocument,
): ErrorPlace | undefined {
  if (!overrides.includes(override)) return undefined;
  const at = [...path, override.slice(0, override.indexOf('='))];
  return { ...source.placeOf(at), key: at.join('.') };
}
