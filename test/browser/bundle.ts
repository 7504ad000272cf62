import { build } from 'esbuild';
import { ROOT } from '../snippets.js';

/** A module and all that it imports as one text for a browser. `entry`: a path, or the text of a module. */
export async function bundle(entry: { readonly path: string } | { readonly text: string }): Promise<string> {
  const { outputFiles } = await build({
    ...('path' in entry
      ? { entryPoints: [entry.path] }
      : { stdin: { contents: entry.text, resolveDir: ROOT, loader: 'js' } }),
    alias: { 'escapement/browser': `${ROOT}src/browser/index.ts` },
    bundle: true,
    minify: true,
    format: 'esm',
    platform: 'browser',
    target: 'es2023',
    write: false,
    logLevel: 'silent',
  });
  return outputFiles[0]!.text;
}
