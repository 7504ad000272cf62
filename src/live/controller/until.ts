/** Waits for conditions that may hold whenever something has changed. */
export class Until {
  private readonly waiting = new Set<() => void>();

  /** Resolves when the condition holds: now, or at a later `check`. */
  holds(condition: () => boolean): Promise<void> {
    return new Promise((resolve) => {
      const look = () => {
        if (!condition()) return;
        this.waiting.delete(look);
        resolve();
      };
      this.waiting.add(look);
      look();
    });
  }

  /** Something has changed. */
  check(): void {
    for (const look of [...this.waiting]) look();
  }
}
