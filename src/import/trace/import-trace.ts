import { rmSync } from 'node:fs';
import { EscapementError, usageError } from '../../base/errors.js';
import { checkWritable, writeWhole } from '../../base/files/output-file.js';
import { type Random, stream } from '../../base/random/streams.js';
import type { InputFiles } from '../../base/world/input-files.js';
import { writeArrivals } from '../../workload/trace-write.js';
import { notesPath } from '../names.js';
import type { BadLine, Entry } from './entry.js';
import { ImportedArrivals, type Section } from './imported-arrivals.js';
import { openLog } from './open-log.js';
import { type Fields, modelOfPath, PATHS, PRESETS, type Preset, presetOf, USUAL } from './presets.js';
import { type TimeFormat, TimeReader, UNIT_NAMES } from './read-time.js';

/** Options of an import. Names of fields replace those of the preset. */
export interface ImportOptions {
  /** One of `PRESETS`. */
  readonly preset?: string | undefined;
  readonly time?: string | undefined;
  readonly timeFormat?: TimeFormat | undefined;
  /** A field with names of models, or a regular expression whose first group, or match, is the name. */
  readonly model?: string | undefined;
  readonly length?: string | undefined;
  /** A field with SLOs in ms, or ns for all; absent: the preset's field, or 100 ms. */
  readonly slo?: string | number | undefined;
  readonly class?: string | undefined;
  readonly tenant?: string | undefined;
  /** Share of the lines that may be unreadable. */
  readonly maxBad: number;
  readonly seed: number;
}

/** Lines that were left out for one reason. */
interface Dropped {
  readonly why: string;
  readonly count: number;
  /** The first one. */
  readonly file: string;
  readonly line: number;
}

/** A written file of arrivals: all, or those of a class and a tenant. */
interface WrittenArrivals extends Section {
  readonly path: string;
  readonly arrivals: number;
}

export interface ImportedTrace {
  readonly written: readonly WrittenArrivals[];
  readonly lines: number;
  readonly arrivals: number;
  readonly dropped: readonly Dropped[];
  /** Models with the number of their requests, most first. */
  readonly models: readonly { readonly name: string; readonly requests: number }[];
  /** Time from the first to the last arrival. */
  readonly spanNs: number;
  /** Sentences about what was recognized and assumed; and of these, the assumptions. */
  readonly notes: readonly string[];
  readonly assumed: readonly string[];
}

/** Reason why a line is no arrival. Lines that are sound but of no request are not bad. */
interface Miss {
  readonly why: string;
  /** Text found instead, and texts that are recognized. */
  readonly found?: string;
  readonly hint?: string;
  readonly isBad: boolean;
}

const NO_CALL: Miss = { why: 'no call of a model', isBad: false };
const NO_REQUEST: Miss = { why: 'spans within requests, or of something else', isBad: false };
const NS_PER_MS = 1e6;
const USUAL_SLO_NS = 100 * NS_PER_MS;
/** Characters of an unreadable text that are shown. */
const MOST_FOUND = 40;
/** Limit on the files of arrivals. */
const MOST_SECTIONS = 200;
const MOST_LENGTH = 2 ** 31 - 1;
/** Limit on the distinct texts of which the model is remembered. */
const MOST_KNOWN = 100_000;

/**
 * Writes the requests of logs as arrivals: to `out`, or to a file next to it for each class and tenant. Nothing is
 * written if more than `maxBad` of the lines cannot be read. Throws `E_USAGE`, `E_TRACE_HEADER`, `E_TRACE_VALUE`,
 * `E_FILE_WRITE`, and the errors of reading. `onLines` gets the number of lines so far.
 */
export async function importTrace(
  files: InputFiles,
  paths: readonly string[],
  out: string,
  options: ImportOptions,
  onLines: (lines: number) => void = () => {},
): Promise<ImportedTrace> {
  checkWritable(out);
  const importer = new TraceImporter(options);
  for (const path of paths) await importer.read(files, path, onLines);
  const { sources, ...report } = importer.finish(paths);
  const written: WrittenArrivals[] = [];
  const guesses = [
    ...report.assumed,
    ...report.dropped.map(({ why, count }) => `left out: ${count} of ${report.lines} lines: ${why}`),
  ];
  for (const { section, source } of sources) {
    const words = Object.values(section).filter((word) => word !== undefined);
    const taken = written.map((each) => each.path);
    const path = sources.length === 1 ? out : namedAfter(out, words, taken);
    const { arrivals } = await writeArrivals(path, source, importer.models);
    if (guesses.length === 0) rmSync(notesPath(path), { force: true });
    else writeWhole(notesPath(path), `${guesses.join('\n')}\n`);
    written.push({ path, arrivals, ...section });
  }
  return { written, ...report };
}

/** `out` with words before its extension, and a number if another section has the same. */
function namedAfter(out: string, words: readonly string[], taken: readonly string[]): string {
  const [, stem, extension] = /^(.*?)((?:\.csv)?(?:\.gz)?)$/s.exec(out)!;
  const name = [stem, ...words.map((word) => word.replace(/[^\w.-]+/g, '_'))].join('-');
  for (let number = 1; ; number++) {
    const path = (number === 1 ? name : `${name}-${number}`) + extension;
    if (!taken.includes(path)) return path;
  }
}

/** Names of the fields of a log; undefined: it has none. */
interface Named {
  readonly time: string;
  readonly model: string | undefined;
  /** True if it holds paths of calls. */
  readonly isPath: boolean;
  readonly onlyModel: string | undefined;
  readonly took: Fields['took'];
  readonly none: Fields['none'];
  readonly length: string | undefined;
  readonly slo: string | undefined;
  readonly class: string | undefined;
  readonly tenant: string | undefined;
}

class TraceImporter {
  private readonly preset: Preset | null;
  private readonly times = new TimeReader();
  private modelPattern: RegExp | null = null;
  private readonly arrivals = new ImportedArrivals();
  /** Models by the text that names them. */
  private readonly known = new Map<string, string | null>();
  private readonly dropped = new Map<string, Dropped>();
  private readonly notes = new Set<string>();
  private readonly assumed = new Set<string>();
  private readonly random: Random;
  private lines = 0;
  private bad = 0;
  private firstBad: Dropped | null = null;
  /** True if an entry stood for many requests. */
  private hasCounts = false;
  /** Time of the last entry; null: there is none in this log. */
  private lastNs: bigint | null = null;
  private backward = 0;

  /** SLO of requests that have none of their own. */
  private readonly sloNs: number;
  private hasOneSlo = false;

  constructor(private readonly options: ImportOptions) {
    this.sloNs = typeof options.slo === 'number' ? options.slo : USUAL_SLO_NS;
    this.preset = options.preset === undefined ? null : PRESETS[options.preset]!;
    this.random = stream(options.seed, 'import');
  }

  get models(): readonly string[] {
    return this.arrivals.models;
  }

  async read(files: InputFiles, path: string, onLines: (lines: number) => void): Promise<void> {
    const patterns = Object.entries(PRESETS).flatMap(([name, { pattern }]) =>
      pattern === undefined || (this.preset !== null && this.preset.pattern !== pattern)
        ? []
        : [[name, pattern] as const],
    );
    const log = await openLog(files, path, patterns);
    const recognized = this.preset === null ? (log.pattern ?? presetOf(log.fields)) : null;
    if (recognized !== null) this.notes.add(`recognized as ${recognized}`);
    const fields = this.preset ?? (recognized === null ? USUAL : PRESETS[recognized]!);
    await this.times.begin(this.options.timeFormat ?? fields.timeFormat ?? 'auto');
    this.lastNs = null;
    let named: Named | null = null;
    for await (const entries of log.entries) {
      for (const entry of entries) {
        this.lines++;
        if ('field' in entry) named ??= this.name(log.fields, fields, path, entries);
        const miss = 'why' in entry ? { why: entry.why, isBad: true } : this.take(entry, named!);
        const isPart = miss === NO_CALL && 'isSpan' in entry;
        if (miss !== null) this.drop(isPart ? NO_REQUEST : miss, path, entry.line);
      }
      onLines(this.lines);
    }
    if (named === null) this.name(log.fields, fields, path, []);
  }

  /** Everything but the written files. Throws `E_TRACE_VALUE` if too many lines are bad, and if there is no arrival. */
  finish(paths: readonly string[]) {
    const { arrivals, times, lines, bad } = this;
    const dropped = [...this.dropped.values()].sort((a, b) => b.count - a.count);
    const { maxBad, seed } = this.options;
    if (bad > maxBad * lines) {
      const { why, file, line } = this.firstBad!;
      const what = `${bad} of ${lines} lines cannot be read, more than --max-bad allows; the first: ${why}`;
      throw new EscapementError('E_TRACE_VALUE', what, { file, line });
    }
    if (arrivals.count === 0) {
      const hint = dropped[0]?.why === NO_CALL.why ? ' (--model takes a pattern for other paths)' : '';
      const why =
        dropped[0] === undefined ? '' : `: ${dropped[0].count} of ${lines} lines: ${dropped[0].why}${hint}`;
      throw new EscapementError('E_TRACE_VALUE', `has no request${why}`, { file: paths.join(', ') });
    }
    if (this.hasCounts) this.assume(`rates became requests at random times within each step (seed ${seed})`);
    else if (this.backward > 0) this.assume(`times that go back, and were put in order: ${this.backward}`);
    if (times.fractional === 0 && !this.hasCounts) {
      this.assume(
        `times are whole seconds: each request was moved to a random time within its second (seed ${seed})`,
      );
      arrivals.spread(this.random);
    }
    if (this.hasOneSlo) this.notes.add(`the SLO of all is ${this.sloNs / NS_PER_MS} ms (--slo)`);
    this.noteTimes();
    this.noteModels();
    const { early, spanNs, sources } = arrivals.finish();
    const file = paths.join(', ');
    if (early > maxBad * lines) {
      const what = `${early} of ${lines} lines are more than 104 days before the last: is a time in the wrong unit?`;
      throw new EscapementError('E_TRACE_VALUE', what, { file });
    }
    if (early > 0) this.assume(`more than 104 days before the last request, and left out: ${early}`);
    if (sources.length > MOST_SECTIONS) {
      const what = `has ${sources.length} combinations of class and tenant, more than ${MOST_SECTIONS}`;
      throw new EscapementError('E_TRACE_VALUE', what, { file });
    }
    const parts = dropped.find(({ why }) => why === NO_REQUEST.why);
    if (parts !== undefined) this.notes.add(`${parts.why}: ${parts.count}`);
    const models = arrivals.models
      .map((name, i) => ({ name, requests: arrivals.counts[i]! }))
      .filter(({ requests }) => requests > 0)
      .sort((a, b) => b.requests - a.requests);
    return {
      sources,
      lines: lines - (parts?.count ?? 0),
      arrivals: arrivals.count - early,
      dropped: dropped.filter((one) => one !== parts),
      models,
      spanNs,
      notes: [...this.notes],
      assumed: [...this.assumed],
    };
  }

  /**
   * Fields of a log by the options, the preset, what is usual, and the values in the first entries. Throws
   * `E_TRACE_HEADER` if it lacks one.
   */
  private name(
    has: readonly string[],
    fields: Fields,
    path: string,
    first: readonly (Entry | BadLine)[],
  ): Named {
    const { options } = this;
    const fail = (what: string) => new EscapementError('E_TRACE_HEADER', what, { file: path, line: 1 });
    const some = (name: string, test: (text: string) => boolean) =>
      first.some((entry) => 'field' in entry && test(entry.field(name) ?? ''));
    const hasValues = (name: string) => some(name, (text) => text !== '');
    const hasField = (name: string) => has.includes(name) || hasValues(name);
    const of = (given: string | undefined, usual: readonly string[] = []) => {
      if (given === undefined) return usual.find(hasValues) ?? usual.find(hasField);
      if (!hasField(given)) throw fail(`has no field ${given}; it has ${has.join(', ')}`);
      return given;
    };
    if (has.includes('HashFunction')) {
      const use = 'workload: { kind: azure-2019, path: … }';
      throw fail(`is a trace of kind azure-2019, which experiments read as it is: ${use}`);
    }
    const time = of(options.time, fields.time);
    if (time === undefined)
      throw fail(`has no known field of times: name it with --time; it has ${has.join(', ')}`);
    const isField = options.model !== undefined && hasField(options.model);
    this.modelPattern = isField || options.model === undefined ? null : expression(options.model);
    const calls = (text: string) => this.modelPattern?.test(text) ?? modelOfPath(text) !== null;
    const model =
      of(isField ? options.model : undefined, fields.model) ?? has.find((name) => some(name, calls));
    if (model === undefined && fields.onlyModel === undefined)
      throw fail(`has no known field of models: name it with --model; it has ${has.join(', ')}`);
    const isPath = model !== undefined && (PATHS.includes(model) || some(model, calls));
    const { slo } = options;
    const named = {
      ...{ time, model, isPath, onlyModel: fields.onlyModel, took: fields.took, none: fields.none },
      length: of(options.length, fields.length),
      slo: typeof slo === 'number' ? undefined : of(slo, fields.slo),
      class: of(options.class, fields.class),
      tenant: of(options.tenant, fields.tenant),
    };
    const took = named.took && hasField(named.took.field) ? named.took.field : undefined;
    if (named.slo === undefined) this.hasOneSlo = true;
    const { time: _, isPath: __, onlyModel: ___, none: ____, ...rest } = named;
    const words = Object.entries({ time, ...rest, took }).flatMap(([what, field]) =>
      field === undefined ? [] : `${what}: ${field}`,
    );
    this.notes.add(`fields: ${words.join(', ')}`);
    return named;
  }

  private assume(text: string): void {
    this.notes.add(text);
    this.assumed.add(text);
  }

  private noteTimes(): void {
    const { assumed, isSince1970, zoned, zoneless } = this.times;
    if (assumed !== null) {
      const since = isSince1970 ? ' since 1970' : '; if they are not, give --time-format';
      this.assume(`times were read as ${UNIT_NAMES[assumed]}${since}`);
    }
    if (zoneless > 0) this.assume(`times without a zone were read as UTC${zoned > 0 ? `: ${zoneless}` : ''}`);
  }

  /** Notes the models that more than one text stands for, the first few of both. */
  private noteModels(): void {
    const texts = new Map<string, string[]>();
    for (const [text, name] of this.known) {
      if (name === null) continue;
      const all = texts.get(name);
      if (all === undefined) texts.set(name, [text]);
      else all.push(text);
    }
    for (const [name, all] of [...texts].filter(([, each]) => each.length > 1).slice(0, 5))
      this.notes.add(`${name} stands for ${all.slice(0, 3).join(', ')}${all.length > 3 ? ', …' : ''}`);
  }

  private take(entry: Entry, named: Named): Miss | null {
    if (named.none?.text.test(entry.field(named.none.field) ?? '')) return NO_CALL;
    const timeText = entry.field(named.time);
    const endNs = timeText === undefined ? null : this.times.read(timeText.trim());
    if (endNs === null) return { ...bad(named.time, 'time', timeText), hint: this.times.hint };
    // Spans are written as they end.
    if (this.lastNs !== null && endNs < this.lastNs && !entry.isSpan) this.backward++;
    this.lastNs = endNs;
    const tookText = named.took && entry.field(named.took.field);
    const tookNs = tookText === undefined ? 0 : Number(tookText) * (named.took!.unit === 's' ? 1e9 : 1e6);
    if (!(tookNs >= 0)) return bad(named.took!.field, 'duration', tookText);
    const model = this.modelOf(entry, named);
    if (typeof model !== 'string') return model;
    const lengthText = named.length && entry.field(named.length);
    const length = lengthText === undefined || lengthText === '' ? 0 : Math.round(Number(lengthText));
    if (!(length >= 0 && length <= MOST_LENGTH)) return bad(named.length!, 'length', lengthText);
    const sloText = named.slo && entry.field(named.slo);
    const sloNs = named.slo === undefined ? this.sloNs : Number(sloText) * NS_PER_MS;
    if (!(sloNs >= 1 && sloNs <= Number.MAX_SAFE_INTEGER)) return bad(named.slo!, 'SLO in ms', sloText);
    const section = {
      class: (named.class && entry.field(named.class)) || undefined,
      tenant: (named.tenant && entry.field(named.tenant)) || undefined,
    };
    const timeNs = endNs - BigInt(Math.round(tookNs));
    const request = { model, sloNs: Math.round(sloNs), length, section };
    const { count, withinS } = entry.requests ?? { count: 1, withinS: 0 };
    if (withinS > 0) this.hasCounts = true;
    for (let i = 0; i < count; i++) {
      const laterNs = withinS > 0 ? Math.floor(this.random() * withinS * 1e9) : 0;
      this.arrivals.add({ timeNs: timeNs + BigInt(laterNs), ...request });
    }
    return null;
  }

  private modelOf(entry: Entry, { model: field, isPath, onlyModel }: Named): string | Miss {
    if (field === undefined) return onlyModel!;
    const whole = entry.field(field);
    if (whole === undefined || whole === '')
      return isPath || entry.isSpan ? NO_CALL : bad(field, 'model', whole);
    const text = isPath && this.modelPattern === null ? whole.split('?')[0]! : whole;
    let name = this.known.get(text);
    if (name === undefined) {
      name = this.modelIn(text, isPath);
      if (this.known.size < MOST_KNOWN) this.known.set(text, name);
    }
    return name ?? NO_CALL;
  }

  private modelIn(text: string, isPath: boolean): string | null {
    if (this.modelPattern === null) return isPath ? modelOfPath(text) : text;
    const match = this.modelPattern.exec(text);
    return match === null ? null : (match[1] ?? match[0]) || null;
  }

  private drop({ why, found = '', hint = '', isBad }: Miss, file: string, line: number): void {
    const dropped = this.dropped.get(why) ?? { why: why + found, count: 0, file, line };
    this.dropped.set(why, { ...dropped, count: dropped.count + 1 });
    if (!isBad) return;
    this.bad++;
    this.firstBad ??= { ...dropped, why: dropped.why + hint };
  }
}

function expression(text: string): RegExp {
  try {
    return new RegExp(text);
  } catch (error) {
    throw usageError(`--model ${text}: ${(error as Error).message}`);
  }
}

function bad(field: string, wanted: string, text: string | undefined): Miss {
  const found = text === undefined ? ' (missing)' : `: ${JSON.stringify(text.slice(0, MOST_FOUND))}`;
  return { why: `no valid ${wanted} in field ${field}`, found, isBad: true };
}
