import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { ROOT } from '../../cli/run-cli.js';

const DIR = join(ROOT, 'deploy/kubernetes');

/** An object of Kubernetes as it is written, and where. */
export interface Manifest {
  readonly file: string;
  // biome-ignore lint/suspicious/noExplicitAny: the type checker looks at it as what its kind says
  readonly object: any;
}

/** All objects of the kustomizations, as they are before kustomize. */
export function manifests(): Manifest[] {
  return readdirSync(DIR, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.yaml') && !/kustomization|experiment/.test(file))
    .sort()
    .flatMap((file) => objectsIn(readFileSync(join(DIR, file), 'utf8')).map((object) => ({ file, object })));
}

export function objectsIn(text: string): Manifest['object'][] {
  return parseAllDocuments(text).map((document) => document.toJS());
}
