import type { Candidate, Section, Tree } from './candidate.js';

/** How often a smaller candidate is tried before the shrinker is content with what it has. */
const MOST_TRIES = 600;

/** Whether a candidate still fails as the first one did. */
export type Fails = (candidate: Candidate) => Promise<boolean>;

/**
 * A smaller candidate that fails as well: with fewer rows in its files, fewer keys, and smaller numbers, none of which can
 * be left out or made smaller by itself. Delta debugging (Zeller and Hildebrandt, TSE 2002), first over the rows of the
 * files, in ever smaller pieces, then over the tree of the experiment.
 */
export async function shrink(first: Candidate, fails: Fails): Promise<Candidate> {
  const shrinker = new Shrinker(first, fails);
  for (;;) {
    const before = shrinker.best;
    for (const name of Object.keys(shrinker.best.files)) await shrinker.removeRows(name);
    await shrinker.simplifyTree();
    await shrinker.dropUnusedFiles();
    if (shrinker.best === before || shrinker.isSpent) return shrinker.best;
  }
}

class Shrinker {
  private tries = 0;

  constructor(
    public best: Candidate,
    private readonly fails: Fails,
  ) {}

  get isSpent(): boolean {
    return this.tries >= MOST_TRIES;
  }

  /** Removes runs of rows of a CSV file, the header not among them: half of them, then quarters, down to single ones. */
  async removeRows(name: string): Promise<void> {
    if (!name.endsWith('.csv')) return;
    for (let size = this.rows(name).length; size >= 1; size = Math.floor(size / 2)) {
      for (let from = 0; from < this.rows(name).length; ) {
        const rows = this.rows(name);
        const left = [...rows.slice(0, from), ...rows.slice(from + size)];
        if (left.length === 0 || !(await this.accept(this.withRows(name, left)))) from += size;
      }
    }
  }

  /** Leaves out keys and list elements, and makes numbers smaller, wherever that can be done. */
  async simplifyTree(): Promise<void> {
    for (const path of pathsOf(this.best.tree)) {
      for (const simpler of [undefined, ...smaller(at(this.best.tree, path))]) {
        if (at(this.best.tree, path) === undefined) break;
        const tree = replaced(this.best.tree, path, simpler) as Section;
        if (await this.accept({ ...this.best, tree })) break;
      }
    }
  }

  /** Leaves out files that nothing names any more. */
  async dropUnusedFiles(): Promise<void> {
    for (const name of Object.keys(this.best.files)) {
      const { [name]: _, ...files } = this.best.files;
      if (!JSON.stringify(this.best.tree).includes(`"${name}"`)) await this.accept({ ...this.best, files });
    }
  }

  /** Keeps the candidate if it fails, too. */
  private async accept(candidate: Candidate): Promise<boolean> {
    if (this.isSpent) return false;
    this.tries++;
    if (!(await this.fails(candidate))) return false;
    this.best = candidate;
    return true;
  }

  private rows(name: string): string[] {
    return this.best.files[name].trimEnd().split('\n').slice(1);
  }

  private withRows(name: string, rows: readonly string[]): Candidate {
    const [header] = this.best.files[name].split('\n', 1);
    return { ...this.best, files: { ...this.best.files, [name]: `${[header, ...rows].join('\n')}\n` } };
  }
}

type Path = readonly (string | number)[];

/** Paths of everything in a tree: the last element of a list first, so that the others keep their places. */
function pathsOf(tree: Tree, path: Path = []): Path[] {
  if (typeof tree !== 'object' || tree === null) return [];
  const keys = Array.isArray(tree) ? tree.map((_, i) => i).reverse() : Object.keys(tree);
  return keys.flatMap((key) => [[...path, key], ...pathsOf((tree as Section)[key], [...path, key])]);
}

function at(tree: Tree | undefined, path: Path): Tree | undefined {
  return path.reduce<Tree | undefined>((node, key) => (node as Section | undefined)?.[key], tree);
}

/** The tree with something else at a path; undefined: without it. */
function replaced(tree: Tree, [key, ...rest]: Path, value: Tree | undefined): Tree {
  const entries = Object.entries(tree as Section).flatMap(([name, old]) => {
    if (name !== String(key)) return [[name, old] as const];
    const inner = rest.length === 0 ? value : replaced(old, rest, value);
    return inner === undefined ? [] : [[name, inner] as const];
  });
  return Array.isArray(tree) ? entries.map(([, inner]) => inner) : Object.fromEntries(entries);
}

/** Simpler values of the same kind: the least, fewer digits, half, one less. */
function smaller(value: Tree | undefined): Tree[] {
  const match = /^(\d+(?:\.\d+)?)(\D*)$/.exec(String(value));
  if (match === null || typeof value === 'object') return [];
  const [, digits, unit] = match;
  const number = Number(digits);
  const candidates = [
    1,
    Number(number.toPrecision(1)),
    Math.floor(number / 2),
    Number(number.toPrecision(2)),
    Math.ceil(number) - 1,
  ];
  const wanted = [...new Set(candidates)].filter(
    (other) => other >= 1 && other !== number && String(other).length <= digits.length,
  );
  return wanted.map((other) => (typeof value === 'number' ? other : `${other}${unit}`));
}
