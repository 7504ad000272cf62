/** One line of a log, or row of a table. */
export interface Entry {
  /** Line, or row, counted from 1. */
  readonly line: number;
  /** Text of a field; undefined: it has none. */
  field(name: string): string | undefined;
  /** Requests that it stands for, and the seconds from its time within which they come; absent: one, at that time. */
  readonly requests?: { readonly count: number; readonly withinS: number };
  /** True for a span of a trace: one without a model is of something else than a request. */
  readonly isSpan?: true;
}

/** A line that is no entry, and why. */
export interface BadLine {
  readonly line: number;
  readonly why: string;
}

/** An opened log. */
export interface OpenLog {
  /** Name of the pattern of its lines; null: it is a table or JSON. */
  readonly pattern: string | null;
  /** Names of the fields of the first entries. */
  readonly fields: readonly string[];
  /** Entries of the file, some at a time. */
  readonly entries: AsyncIterable<readonly (Entry | BadLine)[]>;
}

/** An object of JSON that is an entry, and what is known of it besides. */
export interface JsonEntry extends Pick<Entry, 'requests' | 'isSpan'> {
  readonly fields: object;
}

/** Entry of a JSON object; a name with dots also leads into objects inside it. */
export function jsonEntry({ fields: object, ...rest }: JsonEntry, line: number): Entry {
  return {
    line,
    ...rest,
    field(name) {
      const value = Object.hasOwn(object, name) ? object[name as never] : inside(object, name);
      return value === undefined || value === null || typeof value === 'object' ? undefined : String(value);
    },
  };
}

function inside(object: object, name: string): unknown {
  return name.split('.').reduce<unknown>((value, key) => {
    const has = typeof value === 'object' && value !== null && Object.hasOwn(value, key);
    return has ? value[key as never] : undefined;
  }, object);
}
