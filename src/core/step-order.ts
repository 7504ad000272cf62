/**
 * Indices of steps, each after those that it waits for, by `after`; or a circle of them that wait for each other, from the
 * last to the first, which is then its end, too.
 */
export function stepOrder(
  after: readonly (readonly number[])[],
): { readonly order: number[] } | { readonly circle: number[] } {
  const order: number[] = [];
  const isDone = (step: number) => order.includes(step);
  while (order.length < after.length) {
    const next = after.findIndex((before, s) => !isDone(s) && before.every(isDone));
    if (next < 0) break;
    order.push(next);
  }
  if (order.length === after.length) return { order };
  const path = [after.findIndex((_, s) => !isDone(s))];
  for (;;) {
    const before = after[path.at(-1)!]!.find((step) => !isDone(step))!;
    path.push(before);
    if (path.indexOf(before) < path.length - 1) return { circle: path.slice(path.indexOf(before)) };
  }
}
