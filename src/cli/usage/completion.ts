import { choice, required } from '../flag.js';
import { type ArgsOf, usageOf } from '../usage.js';

export const usage = usageOf({
  arguments: { shell: required(choice(['bash', 'zsh', 'fish'], 'Shell to complete in')) },
  examples: ['completion bash'],
  notes: [
    'Completes commands, flags, file names, choices, and the keys of --set. Add to ~/.bashrc:\n' +
      '  source <(escapement completion bash)\n' +
      'to ~/.zshrc, after compinit:\n' +
      '  source <(escapement completion zsh)\n' +
      'or to ~/.config/fish/config.fish:\n' +
      '  escapement completion fish | source',
  ],
});

export type CompletionArgs = ArgsOf<typeof usage>;
