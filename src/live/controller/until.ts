/** Waits for conditions, checked after each change. */
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

  /** Call after a change. */
  check(): void {
    for (const look of [...this.waiting]) look();
  }
}
