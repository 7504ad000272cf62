import { ddmin } from '../shrink.js';
import type { Candidate, Section, Tree } from './candidate.js';

/** How often a smaller candidate is tried before the shrinker is content with what it has. */
const MOST_TRIES = 600;

/** A smaller candidate that `fails` as well: with fewer rows in its files, and fewer keys and list elements. */
export async function shrink(
  first: Candidate,
  fails: (candidate: Candidate) => Promise<boolean>,
): Promise<Candidate> {
  let best = first;
  let tries = 0;
  const accept = async (change: Partial<Candidate>) => {
    const candidate = { ...best, ...change };
    if (tries++ >= MOST_TRIES || !(await fails(candidate))) return false;
    best = candidate;
    return true;
  };
  for (const [name, text] of Object.entries(first.files)) {
    if (!name.endsWith('.csv')) continue;
    const [header, ...rows] = text.trimEnd().split('\n');
    const withRows = (left: readonly string[]) => ({
      files: { ...best.files, [name]: `${[header, ...left].join('\n')}\n` },
    });
    await ddmin(rows, async (left) => left.length > 0 && (await accept(withRows(left))));
  }
  await prune(best.tree, (tree) => accept({ tree: tree as Section }));
  for (const name of Object.keys(best.files)) {
    const { [name]: _, ...files } = best.files;
    if (!JSON.stringify(best.tree).includes(`"${name}"`)) await accept({ files });
  }
  return best;
}

/** Leaves out keys and list elements wherever that is accepted. */
async function prune(tree: Tree, accept: (tree: Tree) => Promise<boolean>): Promise<Tree> {
  if (typeof tree !== 'object' || tree === null) return tree;
  let left: Tree = tree;
  // The last element of a list first, so that the others keep their places.
  for (const key of Object.keys(tree).reverse()) {
    const smaller = replaced(left, key);
    if (await accept(smaller)) left = smaller;
    else {
      const whole = left as Section;
      left = replaced(whole, key, await prune(whole[key], (inner) => accept(replaced(whole, key, inner))));
    }
  }
  return left;
}

/** With another value for a key; undefined: without it. */
function replaced(tree: Tree, key: string, value?: Tree): Tree {
  const entries = Object.entries(tree as Section).flatMap(([name, old]) => {
    const found = name === key ? value : old;
    return found === undefined ? [] : [[name, found] as const];
  });
  return Array.isArray(tree) ? entries.map(([, inner]) => inner) : Object.fromEntries(entries);
}
