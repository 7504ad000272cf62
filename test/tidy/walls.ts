import type ts from 'typescript';
import { importsOf, resolveImport } from './sources.js';

/** One file imports another; types count, though they are gone when the program runs. */
export interface Arrow {
  readonly from: string;
  readonly to: string;
}

/** Who may import whom: each room or wing with those that it may import besides itself. */
export type Grants = Readonly<Record<string, readonly string[]>>;

/** The wing of a room in which its own files lie. */
export const OWN = 'own';

export function arrowsOf(source: ts.SourceFile): Arrow[] {
  return importsOf(source)
    .filter(({ name }) => name.startsWith('.'))
    .map(({ name }) => ({ from: source.fileName, to: resolveImport(source.fileName, name) }));
}

/** The folder below src; of a file that lies in src itself, the file's name. */
export function roomOf(path: string): string {
  return (path.split('/')[1] as string).replace(/\.ts$/, '');
}

/** The public door of a room, `src/core/index.ts`, or of the package, `src/index.ts`. */
export function isDoor(path: string): boolean {
  return /^src\/(?:[^/]+\/)?index\.ts$/.test(path);
}

/**
 * The wing of its room: the folder below it, or the name of a file that has a line of its own in the table, as what
 * assembles a room lies above its folders; all other files of the room itself are one wing, below.
 */
export function wingOf(path: string, wings: Grants): string {
  const [, , folder = '', ...rest] = path.split('/');
  if (rest.length > 0) return folder;
  const name = folder.replace(/\.ts$/, '');
  return name in wings ? name : OWN;
}

export class Walls {
  constructor(
    private readonly rooms: Grants,
    private readonly wings: Readonly<Record<string, Grants>>,
  ) {}

  /** Imports that no grant covers, and imports of a door by anything but another door. */
  ungranted(arrows: readonly Arrow[]): string[] {
    return arrows
      .filter(({ from, to }) => {
        if (isDoor(to) && !isDoor(from)) return true;
        const grant = this.grantOf({ from, to });
        return grant !== null && !grant.grants[grant.holder]?.includes(grant.target);
      })
      .map(({ from, to }) => `${from} imports ${to}`);
  }

  /** Grants of both tables that no import needs. */
  unused(arrows: readonly Arrow[]): string[] {
    const used = new Set(
      arrows.flatMap((arrow) => {
        const grant = this.grantOf(arrow);
        return grant === null ? [] : [`${grant.prefix}${grant.holder} -> ${grant.target}`];
      }),
    );
    const all = (grants: Grants, prefix = '') =>
      Object.entries(grants).flatMap(([holder, targets]) =>
        targets.map((target) => `${prefix}${holder} -> ${target}`),
      );
    const given = [
      ...all(this.rooms),
      ...Object.entries(this.wings).flatMap(([room, grants]) => all(grants, `${room}: `)),
    ];
    return given.filter((grant) => !used.has(grant));
  }

  /** The name of a file's wing among those of all rooms. A door is a node of its own. */
  nodeOf(path: string): string {
    const room = roomOf(path);
    const wings = this.wings[room];
    if (isDoor(path)) return `${room}/index`;
    return wings === undefined ? room : `${room}/${wingOf(path, wings)}`;
  }

  /** Which line of which table has to allow an import; null where none has to. */
  private grantOf({ from, to }: Arrow) {
    const [room, target] = [roomOf(from), roomOf(to)];
    if (room !== target) return { grants: this.rooms, prefix: '', holder: room, target };
    const wings = this.wings[room];
    // A door opens on the whole of its room.
    if (wings === undefined || isDoor(from) || isDoor(to)) return null;
    const [a, b] = [wingOf(from, wings), wingOf(to, wings)];
    return a === b ? null : { grants: wings, prefix: `${room}: `, holder: a, target: b };
  }
}

/** The arrows between the nodes that files belong to. */
export function graphOf(arrows: readonly Arrow[], nodeOf: (path: string) => string): Map<string, string[]> {
  const graph = new Map<string, Set<string>>();
  for (const { from, to } of arrows) {
    const [a, b] = [nodeOf(from), nodeOf(to)];
    if (a === b) continue;
    graph.set(a, (graph.get(a) ?? new Set()).add(b));
  }
  return new Map([...graph].map(([node, next]) => [node, [...next]]));
}

/** A circle as the list of its nodes, empty if there is none. */
export function findCircle(graph: ReadonlyMap<string, readonly string[]>): string[] {
  const done = new Set<string>();
  const visit = (node: string, trail: readonly string[]): string[] => {
    if (trail.includes(node)) return [...trail.slice(trail.indexOf(node)), node];
    if (done.has(node)) return [];
    for (const next of graph.get(node) ?? []) {
      const circle = visit(next, [...trail, node]);
      if (circle.length > 0) return circle;
    }
    done.add(node);
    return [];
  };
  for (const node of graph.keys()) {
    const circle = visit(node, []);
    if (circle.length > 0) return circle;
  }
  return [];
}
