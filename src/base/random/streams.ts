import seedrandom from 'seedrandom';

/** Uniform in [0, 1). */
export type Random = () => number;

/**
 * A named random stream: `stream(1, 'arrivals')` never changes when another part of the program draws more or fewer
 * numbers. One stream per purpose; the name is part of the seed.
 */
export function stream(seed: number | string, name: string): Random {
  return seedrandom.alea(`${seed}/${name}`);
}
