import { join } from 'node:path';
import ts from 'typescript';
import { ROOT } from '../../cli/run-cli.js';
import type { Manifest } from './manifests.js';

/**
 * What the type checker says of objects of Kubernetes, a line each: wrong types, missing fields, and fields that do not exist.
 */
export function typeErrors(manifests: readonly Manifest[]): string[] {
  const name = join(ROOT, 'test/deploy/kubernetes/in-memory.ts');
  const text = manifests.map(statementOf).join('\n');
  const options: ts.CompilerOptions = {
    module: ts.ModuleKind.ESNext,
    moduleResolution: ts.ModuleResolutionKind.Bundler,
    target: ts.ScriptTarget.ES2023,
    strict: true,
    noEmit: true,
    skipLibCheck: true,
    types: [],
  };
  const host = ts.createCompilerHost(options);
  const { getSourceFile, fileExists } = host;
  host.getSourceFile = (file, ...rest) =>
    file === name ? ts.createSourceFile(file, text, ts.ScriptTarget.ES2023) : getSourceFile(file, ...rest);
  host.fileExists = (file) => file === name || fileExists(file);
  const program = ts.createProgram([name], options, host);
  return ts.getPreEmitDiagnostics(program).map(({ start = 0, messageText }) => {
    const line = text.slice(0, start).split('\n').length - 1;
    return `${manifests[line]?.file}: ${ts.flattenDiagnosticMessageText(messageText, ' ')}`;
  });
}

/** One line per object, so that the line of an error names its object. */
function statementOf({ object }: Manifest, index: number): string {
  const { apiVersion, kind } = object;
  const [group, version = group] = apiVersion.split('/');
  const folder = version === group ? 'core' : group.split('.')[0];
  return `export const m${index}: import('kubernetes-types/${folder}/${version}').${kind} = ${JSON.stringify(object)};`;
}
