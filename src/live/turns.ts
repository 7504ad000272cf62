/** Work on each of several things, one piece after the other in order of arrival. */
export class Turns<Thing> {
  private readonly last = new Map<Thing, Promise<unknown>>();

  isBusy(thing: Thing): boolean {
    return this.last.has(thing);
  }

  /** Does the work after all earlier work on the thing, and settles like it. */
  take<T>(thing: Thing, work: () => Promise<T>): Promise<T> {
    const result = (this.last.get(thing) ?? Promise.resolve()).then(work);
    const done = result
      .catch(() => {})
      .then(() => {
        if (this.last.get(thing) === done) this.last.delete(thing);
      });
    this.last.set(thing, done);
    return result;
  }
}
