import { render } from 'preact';
import type { Setup } from '../share/address.js';
import { setupFromJson, unpackAddress } from '../share/address.js';
import { App } from './app.jsx';
import { DEFAULT_SETUP } from './default-setup.js';

/* The page is one file: it holds the engine as text, and the experiment of `escapement play FILE`. */

/** Initial state of the page. */
interface Start {
  readonly setup: Setup;
  /** Reason why the requested setup cannot be shown; empty if it is. */
  readonly problem: string;
  /** True if neither the address nor the page names an experiment. */
  readonly isDefault: boolean;
}

async function start(): Promise<Start> {
  const { hash } = location;
  const given = textOf('setup');
  if (hash.length <= 1 && given === '') return { setup: DEFAULT_SETUP, problem: '', isDefault: true };
  try {
    const setup = hash.length > 1 ? await unpackAddress(hash.slice(1)) : setupFromJson(given, 'the page');
    return { setup, problem: '', isDefault: false };
  } catch (error) {
    return { setup: DEFAULT_SETUP, problem: (error as Error).message, isDefault: false };
  }
}

function textOf(id: string): string {
  return document.getElementById(id)!.textContent!.trim();
}

const engine = URL.createObjectURL(new Blob([textOf('engine')], { type: 'text/javascript' }));
// An address pasted into the open page is another page.
window.addEventListener('hashchange', () => location.reload());
start().then((begin) => {
  render(<App {...begin} startEngine={() => new Worker(engine)} />, document.getElementById('app')!);
});
