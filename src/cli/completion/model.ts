import type { Completes, Flag } from '../flag.js';
import type { Command } from '../usage.js';

/** What a shell offers behind a flag or in place of an argument. */
export interface Offer {
  readonly completes: Completes;
  readonly words: readonly string[];
}

export interface CompletedFlag extends Offer {
  /** With the dashes. */
  readonly name: string;
  readonly takesValue: boolean;
  readonly describe: string;
}

export interface CompletedCommand {
  readonly name: string;
  readonly summary: string;
  readonly flags: readonly CompletedFlag[];
  /** In order; the last one serves for all that follow. */
  readonly arguments: readonly Offer[];
}

/** What the completion of every shell is made of. */
export interface CompletionModel {
  readonly commands: readonly CompletedCommand[];
  /** Keys of the experiment file and their values where these are known, for `--set`. */
  readonly overrides: readonly string[];
}

/** Collects it. Keys of the experiment file may occur with several kinds; each is offered once. */
export async function completionModel(
  all: readonly Command[],
  overrides: readonly string[],
): Promise<CompletionModel> {
  const commands = await Promise.all(
    all.map(async ({ name, summary, usage }) => {
      const { flags, arguments: args } = await usage();
      return {
        name,
        summary,
        flags: [...Object.entries(flags).map(completedFlag), HELP],
        arguments: Object.values(args).map(offerOf),
      };
    }),
  );
  return { commands, overrides: [...new Set(overrides)] };
}

/** The first words of all commands, once each, with what they are for. */
export function firstWords({ commands }: CompletionModel): { name: string; summary: string }[] {
  const words = new Map<string, string>();
  for (const { name, summary } of commands) {
    const [first = '', second] = name.split(' ');
    if (!words.has(first)) words.set(first, second === undefined ? summary : `Commands for a ${first}`);
  }
  return [...words].map(([name, summary]) => ({ name, summary }));
}

/** Second words by first, of commands of two. */
export function families({ commands }: CompletionModel): Map<string, CompletedCommand[]> {
  const found = new Map<string, CompletedCommand[]>();
  for (const command of commands) {
    const [first = '', second] = command.name.split(' ');
    if (second !== undefined) found.set(first, [...(found.get(first) ?? []), command]);
  }
  return found;
}

const HELP: CompletedFlag = {
  name: '--help',
  takesValue: false,
  describe: 'Show help',
  completes: 'nothing',
  words: [],
};

function completedFlag([name, flag]: [string, Flag<unknown>]): CompletedFlag {
  const { value, describe } = flag;
  return { name: `--${name}`, takesValue: value !== '', describe, ...offerOf(flag) };
}

function offerOf({ completes, choices }: Flag<unknown>): Offer {
  return { completes, words: choices };
}
