import { RUNTIME_SETTINGS } from '../experiment/runtime-settings.js';
import { wrap } from '../report/wrap.js';
import { terminalWidth } from './text-layout.js';

/** Every runtime setting with its default, its environment variable and what MXNet calls it, for `--help`. */
export function runtimeHelp(): string {
  const indent = 4 + Math.max(...RUNTIME_SETTINGS.map(({ key }) => key.length));
  const lines = RUNTIME_SETTINGS.map(({ key, environment, description, mxnet, default: byDefault }) => {
    const like = mxnet === '' ? '' : `; in MXNet ${mxnet}`;
    const text = wrap(`${description} [${byDefault}] ${environment}${like}`, terminalWidth() - indent);
    return `  ${key}`.padEnd(indent) + text.join(`\n${' '.repeat(indent)}`);
  });
  const title =
    'Runtime settings, as --set runtime.KEY=VALUE, as environment variables, in the section runtime of the ' +
    'experiment file, or by its preset; the first of these that says something counts [default]:';
  return [...wrap(title, terminalWidth()), ...lines].join('\n');
}
