import { readFileSync } from 'node:fs';

const { exports } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));
const doors = Object.keys(exports).filter((path) => path !== './package.json');
// What two of them export is documented with the narrower one: `escapement` itself comes last.
doors.sort((a, b) => Number(a === '.') - Number(b === '.'));

/** A page for each function, class and type that the package exports. */
export default {
  plugin: ['typedoc-plugin-markdown'],
  entryPoints: doors.map((path) => `../src/${path === '.' ? '' : `${path.slice(2)}/`}index.ts`),
  tsconfig: '../tsconfig.build.json',
  out: 'api',
  readme: 'none',
  entryFileName: 'modules',
  outputFileStrategy: 'members',
  excludePrivate: true,
  excludeInternal: true,
  disableSources: true,
  hidePageHeader: true,
  hideBreadcrumbs: true,
  useCodeBlocks: true,
  parametersFormat: 'table',
  interfacePropertiesFormat: 'table',
  typeDeclarationFormat: 'table',
  validation: { notExported: false },
};
