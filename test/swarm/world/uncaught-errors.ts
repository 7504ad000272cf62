const EVENTS = ['unhandledRejection', 'uncaughtException'] as const;
type Listener = (error: unknown, ...more: unknown[]) => void;

/** Sees errors that nothing in this process has caught, before those that listen for them already. */
export class UncaughtErrors {
  private undo: (() => void)[] = [];

  /** `take`: whether it takes an error, which the others do not see then. */
  constructor(private readonly take: (error: Error) => boolean) {}

  install(): void {
    this.undo = EVENTS.map((event) => this.listen(event));
  }

  remove(): void {
    for (const undo of this.undo.splice(0)) undo();
  }

  private listen(event: string): () => void {
    const others = process.listeners(event as 'unhandledRejection') as Listener[];
    const own: Listener = (error, ...more) => {
      if (this.take(error instanceof Error ? error : new Error(String(error)))) return;
      if (others.length === 0) throw error;
      for (const other of others) other(error, ...more);
    };
    for (const other of others) process.off(event, other);
    process.on(event, own);
    return () => {
      process.off(event, own);
      for (const other of others) process.on(event, other);
    };
  }
}
