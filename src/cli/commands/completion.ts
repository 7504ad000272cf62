import { describeKeys } from '../../config/keys.js';
import { POLICIES } from '../../policies/registry.js';
import { writeOut } from '../../text/terminal.js';
import { bashCompletion } from '../completion/bash.js';
import { fishCompletion } from '../completion/fish.js';
import { completionModel } from '../completion/model.js';
import { zshCompletion } from '../completion/zsh.js';
import type { CompletionArgs } from '../usage/completion.js';
import type { Command } from '../usage.js';

const SCRIPTS = { bash: bashCompletion, zsh: zshCompletion, fish: fishCompletion };

/** `escapement completion SHELL`: the script completes by itself, so that no key press waits for a process. */
export async function run({ shell }: CompletionArgs, all: readonly Command[]): Promise<void> {
  const keys = describeKeys();
  const kindsOf = (section: string) =>
    keys.filter(({ key }) => key.startsWith(`${section}.`)).flatMap(({ kind }) => kind ?? []);
  const kinds = {
    models: kindsOf('models'),
    workload: kindsOf('workload'),
    policy: POLICIES.map(({ kind }) => kind),
  };
  const overrides = [
    ...keys.map(({ key }) => `${key}=`),
    ...Object.entries(kinds).flatMap(([section, of]) => of.map((kind) => `${section}.kind=${kind}`)),
  ];
  writeOut(SCRIPTS[shell](await completionModel(all, overrides)));
}
