import {
  type CompletedCommand,
  type CompletedFlag,
  type CompletionModel,
  families,
  firstWords,
  type Offer,
} from './model.js';

/** The completion of zsh. */
export function zshCompletion(model: CompletionModel): string {
  const { commands, overrides } = model;
  const single = commands.filter(({ name }) => !name.includes(' '));
  return `#compdef escapement
# Completion of escapement for zsh. In ~/.zshrc, after compinit: source <(escapement completion zsh)
_escapement_overrides() {
  compadd -S '' -- ${overrides.map(quoted).join(' ')}
}

_escapement() {
  local curcontext="$curcontext" state line
  local -a names
  names=(
${firstWords(model)
  .map(({ name, summary }) => `    ${quoted(`${name}:${summary}`)}\n`)
  .join('')}    'help:Show help'
  )
  if ((CURRENT == 2)); then
    _describe -t commands command names
    _arguments '--help[Show help]' '--version[Show the version]'
    return
  fi
  case "$words[2]" in
    help) ((CURRENT == 3)) && _describe -t commands command names ;;
${single.map((command) => `    ${command.name})\n      shift words; ((CURRENT--))\n${argumentsOf(command)} ;;\n`).join('')}${[
  ...families(model),
]
  .map(([first, own]) => familyCase(first, own))
  .join('')}  esac
}

compdef _escapement escapement
`;
}

function familyCase(first: string, own: readonly CompletedCommand[]): string {
  const second = ({ name }: CompletedCommand) => name.split(' ')[1] ?? '';
  const names = own.map((command) => quoted(`${second(command)}:${command.summary}`)).join(' ');
  const cases = own.map(
    (command) => `        ${second(command)})
          shift 2 words; ((CURRENT -= 2))
${argumentsOf(command)} ;;
`,
  );
  return `    ${first})
      if ((CURRENT == 3)); then
        names=(${names})
        _describe -t commands command names
        return
      fi
      case "$words[3]" in
${cases.join('')}      esac ;;
`;
}

function argumentsOf({ flags, arguments: args }: CompletedCommand): string {
  const specs = [
    ...flags.map(flagSpec),
    ...args.map((arg, i) => quoted(`${i === args.length - 1 ? '*' : i + 1}:argument:${actionOf(arg)}`)),
  ];
  return `        _arguments -s ${specs.join(' \\\n          ')}`;
}

function flagSpec(flag: CompletedFlag): string {
  const about = flag.describe.replaceAll(/[[\]\\]/g, ' ').replaceAll(':', ' ');
  const value = flag.takesValue ? `:value:${actionOf(flag)}` : '';
  return quoted(`*${flag.name}[${about}]${value}`);
}

function actionOf({ words, completes }: Offer): string {
  if (words.length > 0) return `(${words.join(' ')})`;
  if (completes === 'file') return '_files';
  if (completes === 'folder') return '_files -/';
  return completes === 'override' ? '_escapement_overrides' : ' ';
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
