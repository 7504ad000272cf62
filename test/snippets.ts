import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';

/** Root of the repository. */
export const ROOT = fileURLToPath(new URL('..', import.meta.url));

/**
 * Problems that the strict compiler finds in TypeScript that stands in a document, as one text each. The code
 * is checked as if it were a file of `test/`, so that it imports `escapement` as any user would.
 */
export function typeErrors(code: string): string[] {
  const file = join(ROOT, 'test', 'snippet-of-a-document.ts');
  const config = ts.readConfigFile(join(ROOT, 'tsconfig.json'), ts.sys.readFile).config;
  const { options } = ts.convertCompilerOptionsFromJson(config.compilerOptions, ROOT);
  const host = ts.createCompilerHost(options);
  const { fileExists, readFile } = host;
  host.fileExists = (path) => path === file || fileExists(path);
  host.readFile = (path) => (path === file ? code : readFile(path));
  const program = ts.createProgram([file], options, host);
  return ts.getPreEmitDiagnostics(program).map((diagnostic) => {
    const { line } = ts.getLineAndCharacterOfPosition(
      diagnostic.file as ts.SourceFile,
      diagnostic.start as number,
    );
    return `line ${line + 1}: ${ts.flattenDiagnosticMessageText(diagnostic.messageText, '\n')}`;
  });
}

/** Runs TypeScript as a module of its own process in `cwd`, which must lie in the repository. */
export function runSnippet(code: string, cwd: string) {
  const { outputText } = ts.transpileModule(code, {
    compilerOptions: {
      target: ts.ScriptTarget.ES2023,
      module: ts.ModuleKind.ESNext,
      verbatimModuleSyntax: true,
    },
  });
  const { status, stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-'], {
    cwd,
    input: outputText,
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  });
  return { status, stdout, stderr };
}
