/** Suppresses repeated log lines about models. */
export class Said {
  /** By model, then by version. */
  private readonly last = new Map<string, Map<string, string>>();

  /** True if this text differs from the last one about that version. */
  isNew(model: string, version: string, text: string): boolean {
    const texts = this.last.get(model) ?? new Map<string, string>();
    this.last.set(model, texts);
    if (texts.get(version) === text) return false;
    texts.set(version, text);
    return true;
  }

  /** Makes the next text about the model, or that version, new. */
  forget(model: string, version?: string): void {
    const texts = this.last.get(model);
    if (version !== undefined) texts?.delete(version);
    if (version === undefined || texts?.size === 0) this.last.delete(model);
  }

  /** Forgets all other models. */
  forgetOthers(isThere: (model: string) => boolean): void {
    for (const model of this.last.keys()) if (!isThere(model)) this.last.delete(model);
  }
}
