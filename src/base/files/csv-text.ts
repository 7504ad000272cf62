import type { EscapementError } from '../errors.js';

/**
 * Splits whole lines of CSV into rows, one per line; a blank line is the row `['']`. Throws the result of `fail` for a
 * quote that is not closed in its line, or is followed by text, with its row, counted from 0.
 */
export type CsvReader = (text: string, fail: (what: string, row: number) => EscapementError) => string[][];

const DELIMITERS = [',', '\t', ';', '|'] as const;

/** Delimiter of a table, from its first line; undefined: none. */
export function delimiterOf(line: string): (typeof DELIMITERS)[number] | undefined {
  return DELIMITERS.find((each) => line.includes(each));
}

/**
 * Loads the reader for every CSV that people provide: fields separated by `delimiter`, optionally in double quotes, with
 * surrounding blanks removed. Loaded on demand, because a small playground on a page reads no files.
 */
export async function csvReader(delimiter = ','): Promise<CsvReader> {
  const { default: Papa } = await import('papaparse');
  const blanksBeforeQuote = new RegExp(
    `(^|[${delimiter}\\n])[ ${delimiter === '\t' ? '' : '\t'}]+"(?!")`,
    'g',
  );
  return (text, fail) => {
    const lines = text.replaceAll('\r\n', '\n').replace(blanksBeforeQuote, '$1"');
    const { data, errors } = Papa.parse<string[]>(lines, { delimiter, newline: '\n' });
    // The parser adds an empty row after the last line end.
    if (lines.endsWith('\n')) data.pop();
    const broken = errors[0]?.row ?? data.findIndex((row) => row.some((field) => field.includes('\n')));
    if (broken >= 0) throw fail('a quote is not closed in its line, or text follows it', broken);
    return /[ \t]/.test(lines) ? data.map((row) => row.map((field) => field.trim())) : data;
  };
}

/** Texts as fields of a CSV row, quoted where necessary. */
export async function csvFields(texts: readonly string[]): Promise<string[]> {
  const { default: Papa } = await import('papaparse');
  return texts.map((text) => Papa.unparse([[text]]));
}
