import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../../snippets.js';
import { runPage } from '../run-page.js';

// The page's folder has the script of the checkout, which runs there.
const dir = runPage('docs/how-to/check-conformance.md', async () => {
  const path = join(dir, 'package.json');
  const scripts = { conform: `npm --prefix ${ROOT} run --silent conform --` };
  writeFileSync(path, JSON.stringify({ ...JSON.parse(readFileSync(path, 'utf8')), scripts }));
});
