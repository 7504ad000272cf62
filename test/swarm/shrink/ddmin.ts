/**
 * A part of `items`, in their order, that still fails, and of which no single item can be left out: delta debugging
 * (Zeller and Hildebrandt, "Simplifying and Isolating Failure-Inducing Input", 2002). `fails(items)` holds.
 */
export async function ddmin<T>(
  items: readonly T[],
  fails: (part: readonly T[]) => Promise<boolean>,
): Promise<readonly T[]> {
  if (items.length > 0 && (await fails([]))) return [];
  let left = items;
  let parts = 2;
  while (left.length > 1) {
    const smaller = await firstFailing(withoutEach(left, parts), fails);
    if (smaller !== null) {
      left = smaller;
      parts = Math.max(2, parts - 1);
    } else if (parts < left.length) parts = Math.min(left.length, 2 * parts);
    else break;
  }
  return left;
}

/** `items` without the first of so many equal parts, without the second, and so on. */
function withoutEach<T>(items: readonly T[], parts: number): readonly (readonly T[])[] {
  const cut = (part: number) => Math.round((part * items.length) / parts);
  return Array.from({ length: parts }, (_, part) => [
    ...items.slice(0, cut(part)),
    ...items.slice(cut(part + 1)),
  ]);
}

async function firstFailing<T>(
  candidates: readonly (readonly T[])[],
  fails: (part: readonly T[]) => Promise<boolean>,
): Promise<readonly T[] | null> {
  for (const candidate of candidates) if (await fails(candidate)) return candidate;
  return null;
}
