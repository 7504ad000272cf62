/** What a client asks: of a model whose answers are known. */
export interface Question {
  readonly id: string;
  readonly model: string;
  /** One row. */
  readonly values: Float32Array<ArrayBuffer>;
  readonly sloMs: number;
}

export type Reply =
  | { readonly kind: 'answer'; readonly id: string; readonly values: readonly number[] }
  /** An answer that says why there is none. */
  | { readonly kind: 'failure'; readonly said: string }
  /** The connection broke before there was an answer. */
  | { readonly kind: 'broken' }
  /** The port is closed. */
  | { readonly kind: 'refused' };

/** A connection of a client, made again when it has broken. */
export interface Asker {
  ask(question: Question): Promise<Reply>;
  close(): void;
}

/** A model that clients ask, and what it should answer to a row. */
export interface Subject {
  readonly name: string;
  /** Numbers in a row. */
  readonly width: number;
  readonly right: (values: Float32Array) => readonly number[];
}

/** What became of the requests. */
export class Tally {
  sent = 0;
  ok = 0;
  /** Requests without an answer, though their connection held. */
  lost = 0;
  broken = 0;
  refused = 0;
  /** Answers with other numbers than they should have, or to another request. */
  readonly wrong: string[] = [];
  /** Answers to no request, or second ones. */
  readonly doubled: string[] = [];
  /** Answers with an error: what they said, and how often. */
  readonly failures = new Map<string, number>();

  count({ id, values }: Question, reply: Reply, right: readonly number[]): void {
    if (reply.kind === 'broken') this.broken++;
    else if (reply.kind === 'refused') this.refused++;
    else if (reply.kind === 'failure')
      this.failures.set(reply.said, (this.failures.get(reply.said) ?? 0) + 1);
    else if (
      reply.id === id &&
      reply.values.length === right.length &&
      right.every((one, i) => one === reply.values[i])
    )
      this.ok++;
    else
      this.wrong.push(
        `${id} asked [${values.slice(0, 4)}], got ${reply.id} [${reply.values.slice(0, 4)}] instead of [${right.slice(0, 4)}]`,
      );
  }

  get failed(): number {
    return [...this.failures.values()].reduce((sum, count) => sum + count, 0);
  }

  /** Takes away the failures that say one of these. */
  excuse(pattern: RegExp): void {
    for (const said of this.failures.keys()) if (pattern.test(said)) this.failures.delete(said);
  }
}
