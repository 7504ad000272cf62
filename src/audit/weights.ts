/** A time during which a GPU held a model, as far as it is known. */
interface Copy {
  /** End of the LOAD. */
  readonly fromNs: number;
  /** The UNLOAD, or the begin of the next LOAD; Infinity: still there. */
  untilNs: number;
  untilLine: number;
  /** The INFER that ended last on it. */
  lastEndNs: number;
  lastLine: number;
}

/**
 * The weights that a GPU holds over time, from its LOADs and UNLOADs. Keeps every copy that there ever was: an INFER may
 * be logged after the UNLOAD that followed it.
 */
export class Weights {
  /** Pages taken. */
  pages = 0;
  private readonly copies = new Map<number, Copy[]>();
  /** The worker was lost: which weights were there when it came back, no log tells. */
  private uncertain = false;

  constructor(private readonly pagesOf: (model: number) => number) {}

  load(model: number, beginNs: number, endNs: number, line: number): void {
    let copies = this.copies.get(model);
    if (copies === undefined) {
      copies = [];
      this.copies.set(model, copies);
    }
    const last = copies.at(-1);
    if (last?.untilNs === Number.POSITIVE_INFINITY) {
      last.untilNs = beginNs;
      last.untilLine = line;
    } else this.pages += this.pagesOf(model);
    const still = { untilNs: Number.POSITIVE_INFINITY, untilLine: 0 };
    copies.push({ fromNs: endNs, ...still, lastEndNs: Number.NEGATIVE_INFINITY, lastLine: 0 });
  }

  /** Returns the line of an INFER that ran when the weights went away, or 0. */
  unload(model: number, atNs: number, line: number, slackNs: number): number {
    const copy = this.copies.get(model)?.at(-1);
    if (copy === undefined || copy.untilNs < Number.POSITIVE_INFINITY) return 0;
    copy.untilNs = atNs;
    copy.untilLine = line;
    this.pages -= this.pagesOf(model);
    return atNs < copy.lastEndNs - slackNs ? copy.lastLine : 0;
  }

  /** Returns what is wrong with an INFER of the model at that time, or ''. */
  infer(model: number, beginNs: number, endNs: number, line: number, slackNs: number): string {
    const copy = this.copies.get(model)?.findLast(({ fromNs }) => fromNs <= beginNs + slackNs);
    if (copy === undefined) return this.uncertain ? '' : 'no LOAD of its model had ended on this GPU';
    if (endNs > copy.untilNs + slackNs) {
      return this.uncertain ? '' : `its weights were unloaded before its end (line ${copy.untilLine})`;
    }
    if (endNs > copy.lastEndNs) {
      copy.lastEndNs = endNs;
      copy.lastLine = line;
    }
    return '';
  }

  /** The GPU was stopped, and has started again with nothing. */
  emptied(): void {
    this.pages = 0;
    this.copies.clear();
  }

  /** The worker was lost, with its weights. */
  lost(): void {
    this.uncertain = true;
    this.pages = 0;
    this.copies.clear();
  }
}
