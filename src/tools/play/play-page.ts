import { readFileSync } from 'node:fs';
import { compiledNextTo } from '../../base/compiled.js';
import type { Setup } from '../../play/share/address.js';
import { setupToJson } from '../../play/share/address.js';

/** The element of the page that holds a setup. */
const ELEMENT = '<script type="application/json" id="setup">';

/** The playground as one HTML document that opens with a setup; null: with its own. */
export function playPage(setup: Setup | null): string {
  const page = readFileSync(compiledNextTo(import.meta.url, '../../play/page.html'), 'utf8');
  // No text in the setup can end its element.
  const json = setup === null ? '' : setupToJson(setup).replaceAll('<', '\\u003c');
  return page.replace(ELEMENT, () => ELEMENT + json);
}
