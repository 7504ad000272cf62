import type { Flag, Flags, ValuesOf } from './flag.js';

/** How a command is called. Light: completion and help load it, the command's own code only a call. */
export interface Usage<A extends Flags = Flags, F extends Flags = Flags> {
  /** Positional arguments in order; the last may repeat. */
  readonly arguments: A;
  readonly flags: F;
  /** Command lines without the leading `escapement`. */
  readonly examples: readonly string[];
  /** Paragraphs below the flags; a line break within one is kept. */
  readonly notes: readonly string[];
}

/** The parsed arguments and flags of a command. */
export type ArgsOf<U> = U extends Usage<infer A, infer F> ? ValuesOf<A> & ValuesOf<F> : never;

type NoFlags = Readonly<Record<never, never>>;

/** Describes a command. */
export function usageOf<A extends Flags = NoFlags, F extends Flags = NoFlags>({
  arguments: args,
  flags,
  examples = [],
  notes = [],
}: Partial<Usage<A, F>>): Usage<A, F> {
  return { arguments: args ?? ({} as A), flags: flags ?? ({} as F), examples, notes };
}

/** The arguments as they are written in the help: `<file>`, `[url]`, `<results..>`. */
export function argumentsText({ arguments: args }: Pick<Usage, 'arguments'>): string {
  return Object.entries(args)
    .map(([name, { repeats, required }]) => {
      const shown = `${name}${repeats ? '..' : ''}`;
      return ` ${required ? `<${shown}>` : `[${shown}]`}`;
    })
    .join('');
}

/** So many choices need a place of their own in the help. */
export const FEW_CHOICES = 4;

/** The value as the help shows it. */
export function valueText({ value, choices }: Pick<Flag<unknown>, 'value' | 'choices'>): string {
  return choices.length > 0 && choices.length < FEW_CHOICES ? choices.join('|') : value;
}

/** A command of the command line. Nothing of it is loaded before it is called. */
export interface Command {
  /** One word, or two: `trace info`. */
  readonly name: string;
  readonly summary: string;
  readonly usage: () => Promise<Usage>;
  /** Loads and runs it; `all`: every command there is. */
  readonly run: (args: never, all: readonly Command[]) => Promise<void>;
}
