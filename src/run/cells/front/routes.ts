import { EscapementError } from '../../../base/errors.js';
import type { CellMap } from '../cell-map.js';

/** Where requests for models go. */
export interface Routes {
  /** The name of a home for each model, in the order of the map. */
  readonly homeOf: ReadonlyMap<string, string>;
  /** Homes by name: each cell, and each set of cells that share models by the same weights. */
  readonly homes: ReadonlyMap<string, readonly WeightedCell[]>;
}

export interface WeightedCell {
  readonly cell: string;
  /** What share of the requests it gets, as load balancers count it: from 1 to 256. */
  readonly weight: number;
}

const MOST_WEIGHT = 256;

/**
 * Which models go to which cells. Throws `E_RESULTS` for names that a map file cannot hold: HAProxy ends a name at a space
 * and takes a line that begins with # for a comment.
 */
export function routesOf({ cells }: CellMap): Routes {
  const shares = new Map<string, { readonly cell: string; readonly share: number }[]>();
  for (const { name: cell, models } of cells) {
    for (const { name, requests: [from, to] = [0, 1] } of models) {
      checkName(name);
      shares.set(name, [...(shares.get(name) ?? []), { cell, share: to - from }]);
    }
  }
  const homes = new Map<string, readonly WeightedCell[]>();
  for (const { name } of cells) homes.set(name, [{ cell: name, weight: 1 }]);
  const homeOf = new Map<string, string>();
  const shared = new Map<string, string>();
  for (const [model, of] of shares) {
    if (of.length === 1) {
      homeOf.set(model, of[0]!.cell);
      continue;
    }
    const weighted = weigh(of);
    const key = JSON.stringify(weighted);
    const home = shared.get(key) ?? `shared-${shared.size + 1}`;
    shared.set(key, home);
    homes.set(home, weighted);
    homeOf.set(model, home);
  }
  return { homeOf, homes };
}

function weigh(of: readonly { readonly cell: string; readonly share: number }[]): WeightedCell[] {
  const shares = of.map(({ share }) => share);
  const [least, most] = [Math.min(...shares), Math.max(...shares)];
  const isEven = most - least < 1e-9;
  return of.map(({ cell, share }) => ({
    cell,
    weight: isEven ? 1 : Math.max(1, Math.round((share / most) * MOST_WEIGHT)),
  }));
}

function checkName(name: string): void {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is refused
  if (!/[\s\u0000-\u001f\u007f]/.test(name) && !name.startsWith('#')) return;
  throw new EscapementError(
    'E_RESULTS',
    `the model ${JSON.stringify(name)} cannot be routed: its name has a space or control character, or begins with #; rename it`,
  );
}
