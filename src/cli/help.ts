import { terminalWidth } from '../text/terminal.js';
import { wrap } from '../text/wrap.js';
import { COMMAND_GROUPS, COMMANDS } from './commands.js';
import type { Flag } from './flag.js';
import { argumentsText, type Command, FEW_CHOICES, type Usage, valueText } from './usage.js';

const ABOUT =
  'Schedule DNN inference to latency SLOs: simulate a GPU cluster, tune and compare schedulers, plan ' +
  'capacity, and serve models with the settings you tuned.';
const NO_BREAK = '\u00a0';
/** Further right a description would have no room. */
const MOST_INDENT = 27;
/** Where the overview begins to describe commands. */
const LONGEST_COMMAND = Math.max(...COMMANDS.map(({ name }) => name.length));

/** `escapement --help`. */
export function overview(): string {
  const groups = COMMAND_GROUPS.map(({ heading, commands }) => section(heading, commands.map(row)));
  const more = section('Options', [
    ['-h, --help'.padEnd(LONGEST_COMMAND), 'Show help; for one command: escapement help COMMAND'],
    ['--version', 'Show the version'],
  ]);
  return page(['Usage: escapement COMMAND [options]', '', ...wrap(ABOUT, terminalWidth())], ...groups, more);
}

/** `escapement trace --help`: the commands of a family. */
export function familyHelp(family: string): string {
  const rows = COMMANDS.filter(({ name }) => name.startsWith(`${family} `)).map(row);
  return page([`Usage: escapement ${family} COMMAND [options]`], section('Commands', rows));
}

/** `escapement simulate --help`. */
export function commandHelp({ name, summary }: Command, usage: Usage): string {
  const flags = Object.entries(usage.flags);
  const headings = [...new Set(flags.map(([, { group }]) => group))];
  const help: Row = ['-h, --help', 'Show this help'];
  // Next to the flags that all commands have in common.
  const helpHeading = headings.includes('Output') ? 'Output' : headings.at(-1);
  const argumentRows = Object.entries(usage.arguments).map(
    ([of, argument]) => [of, described(argument, 1)] as const,
  );
  return page(
    [
      `Usage: escapement ${name}${argumentsText(usage)} [options]`,
      '',
      ...wrap(`${summary}.`, terminalWidth()),
    ],
    argumentRows.length === 0 ? [] : section('Arguments', argumentRows),
    ...headings.map((heading) => {
      const rows = flags.filter(([, { group }]) => group === heading).map(flagRow);
      return section(heading, heading === helpHeading ? [...rows, help] : rows);
    }),
    headings.length === 0 ? section('Options', [help]) : [],
    usage.examples.length === 0 ? [] : ['Examples:', ...usage.examples.map((line) => `  escapement ${line}`)],
    ...usage.notes.map((note) => note.split('\n').flatMap((line) => wrap(line, terminalWidth()))),
  );
}

type Row = readonly [left: string, right: string];

function row({ name, summary }: Command): Row {
  return [name.padEnd(LONGEST_COMMAND), summary];
}

function flagRow([name, flag]: [string, Flag<unknown>]): Row {
  return [`--${name} ${valueText(flag)}`.trimEnd(), described(flag, FEW_CHOICES)];
}

/** Text and remarks; choices from `most` on, as fewer are shown in place of the value. */
function described(flag: Flag<unknown>, most: number): string {
  const { describe, choices, repeats, required, byDefault } = flag;
  const remarks = [
    ...(choices.length >= most ? [`[one of ${choices.join(', ')}]`] : []),
    ...(required ? ['[required]'] : []),
    ...(repeats && !required ? ['[repeatable]'] : []),
    ...(byDefault === null ? [] : [unbroken(`[default: ${byDefault}]`)]),
  ];
  return [describe, ...remarks].join(' ');
}

/** Short remarks stay on one line. */
function unbroken(remark: string): string {
  return remark.length > 30 ? remark : remark.replaceAll(' ', NO_BREAK);
}

/** A heading and rows of two columns; a long left side has a line of its own. */
export function section(heading: string, rows: readonly Row[]): string[] {
  const lengths = rows.map(([left]) => left.length).filter((length) => length + 4 <= MOST_INDENT);
  const indent = 4 + Math.max(0, ...lengths);
  const lines = rows.flatMap(([left, right]) => {
    const [first = '', ...rest] = wrap(right, terminalWidth() - indent).map((line) =>
      line.replaceAll(NO_BREAK, ' '),
    );
    const begin = `  ${left}`;
    const isLong = begin.length + 2 > indent;
    return [
      ...(isLong ? [begin, `${' '.repeat(indent)}${first}`] : [`${begin.padEnd(indent)}${first}`.trimEnd()]),
      ...rest.map((line) => `${' '.repeat(indent)}${line}`),
    ];
  });
  return [`${heading}:`, ...lines];
}

/** Blocks of lines with an empty line between them. */
function page(...blocks: readonly (readonly string[])[]): string {
  return `${blocks
    .filter((block) => block.length > 0)
    .map((block) => block.join('\n'))
    .join('\n\n')}\n`;
}
