import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';

/** Root of the repository. */
export const ROOT = fileURLToPath(new URL('..', import.meta.url));

/** Where the compiler finds a snippet: in `test/`, so that it imports `escapement` as any user would. */
const SNIPPET = join(ROOT, 'test', 'snippet-of-a-document.ts');

/** Parsed files other than the snippet, which every snippet shares. */
const sources = new Map<string, ts.SourceFile | undefined>();

/** Problems that the strict compiler finds in TypeScript of a document, one text each, against the sources of now. */
export function typeErrors(code: string): string[] {
  const config = ts.readConfigFile(join(ROOT, 'tsconfig.json'), ts.sys.readFile).config;
  const compilerOptions = {
    ...config.compilerOptions,
    paths: { escapement: ['./src/index.ts'], 'escapement/*': ['./src/*/index.ts'] },
  };
  const { options } = ts.convertCompilerOptionsFromJson(compilerOptions, ROOT);
  const host = ts.createCompilerHost(options);
  const { fileExists, readFile, getSourceFile } = host;
  host.fileExists = (path) => path === SNIPPET || fileExists(path);
  host.readFile = (path) => (path === SNIPPET ? code : readFile(path));
  host.getSourceFile = (path, ...rest) => {
    if (path === SNIPPET) return getSourceFile(path, ...rest);
    if (!sources.has(path)) sources.set(path, getSourceFile(path, ...rest));
    return sources.get(path);
  };
  const program = ts.createProgram([SNIPPET], options, host);
  const snippet = program.getSourceFile(SNIPPET) as ts.SourceFile;
  const problems = [
    ...program.getOptionsDiagnostics(),
    ...program.getSyntacticDiagnostics(snippet),
    ...program.getSemanticDiagnostics(snippet),
  ];
  return problems.map(({ file, start, messageText }) => {
    const line = file === undefined ? 0 : ts.getLineAndCharacterOfPosition(file, start as number).line + 1;
    return `line ${line}: ${ts.flattenDiagnosticMessageText(messageText, '\n')}`;
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
