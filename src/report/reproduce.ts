import { html, type Markup } from './html/markup.js';
import { code } from './html/parts.js';

/** A command on `experiment.yaml` with its flags, a line each. */
export function commandLine(command: 'simulate' | 'sweep' | 'plan', flags: readonly string[]): string {
  return [`escapement ${command} experiment.yaml`, ...flags, '--out results'].join(' \\\n  ');
}

/** Overrides as flags, quoted for a shell. */
export function setFlags(overrides: readonly string[] = []): string[] {
  return overrides.map((override) => `--set ${quoted(override)}`);
}

/** Quotes for a shell where a word needs them. */
export function quoted(word: string): string {
  return /^[\w.,:=/+%@-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}

/** How to run it again: the command, and the experiment as written. */
export function experimentToRun(experiment: string, command: string): Markup {
  return html`<p>Save the experiment below as <code>experiment.yaml</code> where its relative paths hold, and run</p>
${code(command)}
<h3>The experiment as written</h3>
${code(experiment)}`;
}
