import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { parse, stringify } from 'yaml';

/** What a YAML file can hold. */
export type Tree = string | number | boolean | null | readonly Tree[] | { readonly [key: string]: Tree };
export type Section = Readonly<Record<string, Tree>>;

/** An experiment to try: the tree of its file, and the text of the files that it names. */
export interface Candidate {
  readonly tree: Section;
  readonly files: Readonly<Record<string, string>>;
}

const EXPERIMENT = 'experiment.yaml';

/** Writes the experiment and its files into a folder. Returns the path of the experiment. */
export function writeCandidate({ tree, files }: Candidate, dir: string): string {
  mkdirSync(dir, { recursive: true });
  for (const [name, text] of Object.entries(files)) writeFileSync(join(dir, name), text);
  const path = join(dir, EXPERIMENT);
  writeFileSync(path, stringify(tree, { flowCollectionPadding: true }));
  return path;
}

/** Reads back what `writeCandidate` wrote. */
export function readCandidate(dir: string): Candidate {
  const names = readdirSync(dir).filter((name) => name.endsWith('.csv') || name.endsWith('.json'));
  return {
    tree: parse(readFileSync(join(dir, EXPERIMENT), 'utf8')) as Section,
    files: Object.fromEntries(names.map((name) => [basename(name), readFileSync(join(dir, name), 'utf8')])),
  };
}
