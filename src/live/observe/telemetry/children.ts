/**
 * Children of a labelled metric by a small integer, each looked up by its labels only once: prom-client's
 * own look-up costs more than counting.
 */
export class Children<T> {
  private readonly made: (T | undefined)[] = [];

  constructor(private readonly make: (index: number) => T) {}

  get(index: number): T {
    const child = this.made[index];
    if (child !== undefined) return child;
    const made = this.make(index);
    this.made[index] = made;
    return made;
  }
}
