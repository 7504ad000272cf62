/** A period during which a GPU held a model, as far as known. */
interface Copy {
  /** End of the LOAD. */
  readonly fromNs: number;
  /** The UNLOAD, or the start of the next LOAD; Infinity: still there. */
  untilNs: number;
  untilLine: number;
  /** Latest end of an INFER on it. */
  lastEndNs: number;
  lastLine: number;
}

/**
 * Weights on a GPU over time, from its LOADs and UNLOADs. Keeps all copies, past ones included: an INFER may be logged
 * after the UNLOAD that followed it.
 */
export class Weights {
  /** Pages in use. */
  pages = 0;
  private readonly copies = new Map<number, Copy[]>();
  /** True after the worker was lost: no log shows which weights it had when it came back. */
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

  /** Returns the line of an INFER that ran when the weights left, or 0. */
  unload(model: number, atNs: number, line: number, slackNs: number): number {
    const copy = this.copies.get(model)?.at(-1);
    if (copy === undefined || copy.untilNs < Number.POSITIVE_INFINITY) return 0;
    copy.untilNs = atNs;
    copy.untilLine = line;
    this.pages -= this.pagesOf(model);
    return atNs < copy.lastEndNs - slackNs ? copy.lastLine : 0;
  }

  /** Returns the problem with an INFER of the model at that time, or ''. */
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

  /** The GPU was restarted, empty. */
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
