/** Work by name: of each name one at a time, in the order in which it came. */
export class Turns {
  private readonly last = new Map<string, Promise<unknown>>();

  take<T>(name: string, work: () => Promise<T>): Promise<T> {
    const before = this.last.get(name) ?? Promise.resolve();
    const result = before.then(work);
    const done = result.then(
      () => {},
      () => {},
    );
    this.last.set(name, done);
    void done.then(() => {
      if (this.last.get(name) === done) this.last.delete(name);
    });
    return result;
  }
}
