/** What the log says of models, so that it says the same only once. */
export class Said {
  /** By model, then by version. */
  private readonly last = new Map<string, Map<string, string>>();

  /** Whether this is another text than the last one of that version. */
  isNew(model: string, version: string, text: string): boolean {
    const texts = this.last.get(model) ?? new Map<string, string>();
    this.last.set(model, texts);
    if (texts.get(version) === text) return false;
    texts.set(version, text);
    return true;
  }

  /** What comes next of the model, or of that version, is new. */
  forget(model: string, version?: string): void {
    const texts = this.last.get(model);
    if (version !== undefined) texts?.delete(version);
    if (version === undefined || texts?.size === 0) this.last.delete(model);
  }

  /** The same of all models but these. */
  forgetOthers(isThere: (model: string) => boolean): void {
    for (const model of this.last.keys()) if (!isThere(model)) this.last.delete(model);
  }
}
